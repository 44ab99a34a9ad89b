"""Where hidden tests can be instrumented: found in their texts, before any code runs.

A run grades many patches of one problem, and its hidden tests are the same for all of them: they are searched once.
"""

from collections.abc import Sequence
from contextlib import suppress
from typing import Annotated, Final, Literal

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, ValidationError

from codegate.durable import digest
from codegate.grading.controls.instruments import Instruments, instrument
from codegate.grading.controls.sites import Edit, FileSites, Mutant, Receipt, Sites, Value
from codegate.grading.sandboxes import Sandboxes
from codegate.languages.searching import SearchError, search_tests
from codegate.sandbox import SandboxError
from codegate.suite import Problem, RunnerName, Tree


class _Change(BaseModel):
    """A mutant with the texts to choose from, as the search reports it; see ``sites.Mutant``."""

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


_Site = Receipt | Value | _Change
_SITE: Final[TypeAdapter[_Site]] = TypeAdapter(Annotated[_Site, Field(discriminator="kind")])

_MOST_OF_ONE: Final = 3


class SitesUnknown(SandboxError):
    """Nobody can say where the hidden tests can be instrumented."""


def search_once(problem: Problem, sources: Tree, files: tuple[str, ...], sandboxes: Sandboxes) -> Sites:
    """Return the sites of those ``files`` that are hidden tests of ``problem``, or tests that ``sources`` has.

    A search that fails is made again.

    Raises:
        SitesUnknown: the search failed.
    """
    return _search_tree(sources.overlay(problem.hidden), files, problem.manifest.runner, sandboxes)


def instrument_tests(
    tree: Tree, files: tuple[str, ...], runner: RunnerName, sandboxes: Sandboxes
) -> Instruments | None:
    """Return instruments for the test ``files`` of ``tree``; None where they have no sites or cannot be searched."""
    with suppress(SitesUnknown):
        sites = _search_tree(tree, files, runner, sandboxes)
        return instrument(sites) if sites else None
    return None


def _search_tree(tree: Tree, files: tuple[str, ...], runner: RunnerName, sandboxes: Sandboxes) -> Sites:
    texts = Tree({path: tree[path] for path in files if path in tree})
    return sandboxes.sites.get((runner, texts.digest()), lambda: find_sites(tree, files, runner))


def find_sites(tree: Tree, files: tuple[str, ...], runner: RunnerName) -> Sites:
    """Find the sites of test ``files``; a file that cannot be read as the language's has none.

    Raises:
        SitesUnknown: the search failed; without it forged passes would be believed.
    """
    texts = {path: text for path in files if (text := _text(tree, path)) is not None}
    found: dict[str, list[_Site]] = {path: [] for path in texts}
    try:
        for line in search_tests(texts, runner).splitlines():
            site = _SITE.validate_json(line)
            found[site.file].append(site)
    except (SearchError, ValidationError) as error:
        raise SitesUnknown(f"the hidden tests could not be instrumented: {error}.") from error
    return {path: _file_sites(texts[path].encode("utf-8"), sites) for path, sites in found.items() if sites}


def _file_sites(data: bytes, sites: Sequence[_Site]) -> FileSites:
    return FileSites(
        data=data,
        receipts=tuple(site for site in sites if isinstance(site, Receipt)),
        values=tuple(site for site in sites if isinstance(site, Value)),
        mutants=tuple(one for site in sites if isinstance(site, _Change) for one in _mutants(site, sites)),
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
