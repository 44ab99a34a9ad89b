"""Where hidden tests can be instrumented: found in their texts, before any code runs.

A run grades many patches of one problem, and its hidden tests are the same for all of them: they are searched once.
"""

from collections.abc import Sequence
from typing import Annotated, Final, Literal

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, ValidationError

from codegate.durable import digest
from codegate.grading.controls.sites import Alias, Edit, FileSites, Mutant, Receipt, Sites, Value
from codegate.grading.drivers import driver_command
from codegate.grading.sandboxes import Sandboxes, environment_key
from codegate.languages.searching import SEARCHED, SearchError, search_tests
from codegate.sandbox import Sandbox, SandboxError
from codegate.suite import Problem, RunnerName, Tree


class _Change(BaseModel):
    """A mutant with the texts to choose from, as a driver reports it; see ``sites.Mutant``."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    kind: Literal["mutant"]
    file: str
    test: str
    order: int
    assertion: int | None = None
    row: int | None = None
    edits: tuple[Edit, ...] = ()
    choices: tuple[str, ...] = Field(min_length=1)
    value: int | None = None
    weak: bool = False


_Site = Receipt | Value | _Change | Alias
_SITE: Final[TypeAdapter[_Site]] = TypeAdapter(Annotated[_Site, Field(discriminator="kind")])

_PYTHON: Final[frozenset[RunnerName]] = frozenset({"pytest", "unittest", "django"})
_MOST_OF_ONE: Final = 3


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
        if runner not in _PYTHON:
            return find_sites(tree, files, runner)
        with sandboxes.open(problem.environment, problem.manifest.limits) as sandbox:
            return find_sites(tree, files, runner, sandbox)

    texts = Tree({path: tree[path] for path in files if path in tree})
    return sandboxes.sites.get((*environment_key(problem.environment), runner, texts.digest()), search)


def find_sites(tree: Tree, files: tuple[str, ...], runner: RunnerName, sandbox: Sandbox | None = None) -> Sites:
    """Find the sites of test ``files``; a file that cannot be read as the language's has none.

    Python's are found by the interpreter of the environment, in the fresh ``sandbox``: nothing of the tree has run in
    it. A runner whose files nothing searches has no sites.

    Raises:
        SitesUnknown: the search failed; without it forged passes would be believed.
        SandboxError: the sandbox failed.
    """
    texts = {path: text for path in files if (text := _text(tree, path)) is not None}
    records = b""
    if texts and sandbox is not None:
        done = sandbox.run(driver_command("python_sites_driver", {"files": texts}))
        records = done.records
        if not done.ok or done.records_truncated:
            words = done.stderr.decode("utf-8", "replace").strip()[-300:]
            raise _unknown(words or "the search did not end")
    elif texts and runner in SEARCHED:
        try:
            records = search_tests(texts, runner)
        except SearchError as error:
            raise _unknown(error) from error
    found: dict[str, list[_Site]] = {path: [] for path in texts}
    for line in records.split(b"\n")[:-1]:
        try:
            site = _SITE.validate_json(line)
        except ValidationError as error:
            raise _unknown(error) from error
        found[site.file].append(site)
    return {path: _file_sites(texts[path].encode("utf-8"), sites) for path, sites in found.items() if sites}


def _unknown(reason: object) -> SitesUnknown:
    return SitesUnknown(f"the hidden tests could not be instrumented: {reason}.")


def _file_sites(data: bytes, sites: Sequence[_Site]) -> FileSites:
    return FileSites(
        data=data,
        receipts=tuple(site for site in sites if isinstance(site, Receipt)),
        values=tuple(site for site in sites if isinstance(site, Value)),
        mutants=tuple(one for site in sites if isinstance(site, _Change) for one in _mutants(site, sites)),
        aliases=tuple(site for site in sites if isinstance(site, Alias)),
    )


def _mutants(change: _Change, sites: Sequence[_Site]) -> list[Mutant]:
    """Return some of the mutants of one place, the same in each search of the file."""
    values = [site for site in sites if isinstance(site, Value)]
    places = [*change.edits, *(values[change.value].edits if change.value is not None else ())]
    place = digest([change.file, change.test, change.order, change.row, places])
    first, choices = int(place, 16), dict.fromkeys(change.choices)
    texts = [list(choices)[(first + turn) % len(choices)] for turn in range(min(_MOST_OF_ONE, len(choices)))]
    fields = {name: value for name, value in change if name not in {"kind", "choices"}}
    return [Mutant(**fields, text=text, turn=turn, name=digest([place, text])[:12]) for turn, text in enumerate(texts)]


def _text(tree: Tree, path: str) -> str | None:
    file = tree.get(path)
    if file is None or file.is_link:
        return None
    try:
        return file.data.decode("utf-8")
    except UnicodeDecodeError:
        return None
