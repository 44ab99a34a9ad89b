"""Where hidden tests can be instrumented: found by a program per language, in a fresh sandbox, before any code runs.

A run grades many patches of one problem, and its hidden tests are the same for all of them: they are searched once.
"""

from collections.abc import Sequence
from typing import Annotated, Final

from pydantic import Field, TypeAdapter, ValidationError

from codegate.durable import digest
from codegate.grading.controls.likeness import split_by_likeness
from codegate.grading.controls.sites import Alias, Aside, FileSites, Mutant, Receipt, Sites, Value
from codegate.grading.drivers import driver_command, driver_source
from codegate.grading.sandboxes import Sandboxes, environment_key
from codegate.sandbox import Sandbox, SandboxError
from codegate.suite import Problem, RunnerName, Tree

_DRIVERS: Final[dict[RunnerName, str]] = {
    "pytest": "python_sites_driver",
    "unittest": "python_sites_driver",
    "django": "python_sites_driver",
    "node": "javascript_sites_driver",
    "vitest": "javascript_sites_driver",
    "jest": "javascript_sites_driver",
    "mocha": "javascript_sites_driver",
    "go": "go_sites_driver",
}
"""Programs by runner; a runner without one has no controls."""
_PROGRAMS: Final = {
    "javascript_sites_driver": ("javascript_syntax.cjs", "javascript_ways.cjs", "javascript_sites.cjs"),
    "go_sites_driver": ("go_sites.go", "go_statements.go", "go_literals.go"),
}
"""What a program of another language starts in its turn: files, sent with the character 0 between them."""

_Site = Receipt | Value | Aside | Mutant | Alias
_SITE: Final[TypeAdapter[_Site]] = TypeAdapter(Annotated[_Site, Field(discriminator="kind")])


class SitesUnknown(SandboxError):
    """Nobody can say where the hidden tests can be instrumented."""


def search_once(problem: Problem, sources: Tree, files: tuple[str, ...], sandboxes: Sandboxes) -> Sites:
    """Return the sites of those ``files`` that are hidden tests of ``problem``, or tests that ``sources`` has.

    The first search of these texts has a sandbox of its own; a search that fails is made again.

    Raises:
        SitesUnknown: the search failed.
        SandboxError: the sandbox failed.
    """
    tree, runner = sources.overlay(problem.hidden), problem.manifest.runner

    def search() -> Sites:
        with sandboxes.open(problem.environment, problem.manifest.limits) as sandbox:
            return find_sites(sandbox, tree, files, runner)

    texts = Tree({path: tree[path] for path in files if path in tree})
    return sandboxes.sites.get((*environment_key(problem.environment), runner, texts.digest()), search)


def find_sites(sandbox: Sandbox, tree: Tree, files: tuple[str, ...], runner: RunnerName) -> Sites:
    """Find the sites of test ``files`` in the fresh ``sandbox``: nothing of the tree has run in it.

    A file that cannot be read as the language's has none.

    Raises:
        SitesUnknown: the search failed; without it forged passes would be believed.
        SandboxError: the sandbox failed.
    """
    driver = _DRIVERS.get(runner)
    texts = {path: text for path in files if (text := _text(tree, path)) is not None}
    if driver is None or not texts:
        return {}
    program = "\0".join(driver_source(name) for name in _PROGRAMS.get(driver, ()))
    done = sandbox.run(
        driver_command(driver, {"files": texts, "runner": runner, "program": program}, "{site}", "{packages}")
    )
    if not done.ok or done.records_truncated:
        words = done.stderr.decode("utf-8", "replace").strip()[-300:]
        raise SitesUnknown(f"the hidden tests could not be instrumented: {words or 'the search did not end'}.")
    found: dict[str, list[_Site]] = {path: [] for path in texts}
    for line in done.records.split(b"\n")[:-1]:
        try:
            site = _SITE.validate_json(line)
        except ValidationError as error:
            raise SitesUnknown(f"the hidden tests could not be instrumented: {error}") from error
        found[site.file].append(site)
    return {path: _file_sites(texts[path].encode("utf-8"), sites) for path, sites in found.items() if sites}


def _file_sites(data: bytes, sites: Sequence[_Site]) -> FileSites:
    return FileSites(
        data=data,
        receipts=tuple(site for site in sites if isinstance(site, Receipt)),
        values=tuple(site for site in sites if isinstance(site, Value)),
        asides=tuple(site for site in sites if isinstance(site, Aside)),
        mutants=_named(data, sites),
        aliases=tuple(site for site in sites if isinstance(site, Alias)),
    )


def _named(data: bytes, sites: Sequence[_Site]) -> tuple[Mutant, ...]:
    # Choices are drawn anew in each search, and a value's number says only how many were found before it.
    values = [site for site in sites if isinstance(site, Value)]
    found = []
    for mutant in (site for site in sites if isinstance(site, Mutant)):
        hidden = values[mutant.value] if mutant.value is not None else None
        places = [*mutant.edits, *(hidden.edits if hidden else ())]
        also = [(values[number].edits, text) for number, text in mutant.also]
        for part in split_by_likeness(mutant, _written(data, mutant, hidden)):
            what = digest([part.test, part.order, part.row, part.loose, part.weak, part.like, places, also])
            found.append(part.model_copy(update={"name": f"{part.file}#{what[:12]}"}))
    return tuple(found)


def _written(data: bytes, mutant: Mutant, hidden: Value | None) -> str:
    """Return the text that a mutant's choices take the place of; empty where there is no one such text."""
    if hidden is not None:
        return hidden.text
    if [text for _, _, text in mutant.edits] != ["$choice$"]:
        return ""
    ((start, end, _),) = mutant.edits
    return data[start:end].decode("utf-8")


def _text(tree: Tree, path: str) -> str | None:
    file = tree.get(path)
    if file is None or file.is_link:
        return None
    try:
        return file.data.decode("utf-8")
    except UnicodeDecodeError:
        return None
