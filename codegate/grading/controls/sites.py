"""Where hidden tests can be instrumented: found by a program per language, in a fresh sandbox, before any code runs.

A *receipt* is a call behind an assertion: a test that reports success without it did not pass the assertion. A
*value* is a literal that the test reads from a table, so that its text does not give the answer away. A *mutant* makes
one assertion expect something else: no correct program passes both a test and its mutant.

All offsets are in bytes of the file's UTF-8 text. In an edit's text ``$receipt$``, ``$guard$``, ``$value$`` and
``$change$`` stand for the names of functions that the test driver brings, ``$token$`` for a random word, and
``$choice$`` for one of a mutant's choices.
"""

import json
from dataclasses import dataclass
from functools import cached_property
from typing import Annotated, Final, Literal

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, ValidationError

from codegate.grading.drivers import driver_source
from codegate.sandbox import Command, Sandbox, SandboxError
from codegate.suite import RunnerName, Tree

_SECONDS: Final = 60.0
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
    "python_sites_driver": ("python_mutants_driver",),
    "javascript_sites_driver": ("javascript_syntax.cjs", "javascript_sites.cjs"),
    "go_sites_driver": ("go_sites.go", "go_statements.go", "go_literals.go"),
}
"""What a program starts in its turn; several files of it are sent with the character 0 between them."""

Edit = tuple[Annotated[int, Field(ge=0)], Annotated[int, Field(ge=0)], str]
"""Start, end, and the text that takes the place of what is between them."""


class _Site(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)

    file: str


class Receipt(_Site):
    """A call that shows that an assertion was passed.

    Attributes:
        test: the function, by its name within the file as the runner's ids have it (without parameters).
        order: where the assertion ends.
        required: a test that passes has run it, whatever the code under test does.
    """

    kind: Literal["receipt"]
    test: str
    order: int
    required: bool
    edits: tuple[Edit, ...]


class Value(_Site):
    """A literal to hide; ``text`` is how the language writes it."""

    kind: Literal["value"]
    edits: tuple[Edit, ...]
    text: str


class Mutant(_Site):
    """A change of one assertion: edits, or another value in place of the file's value of number ``value``.

    Attributes:
        test: as of a receipt.
        order: the first place that the change can be felt at; receipts before it are left all the same.
        assertion: where the assertion ends that has to fail; null where that cannot be said.
        row: the change is for the test's row of parameters with this number; null: for all of its ids.
    """

    kind: Literal["mutant"]
    test: str
    order: int
    assertion: int | None = None
    row: int | None = None
    edits: tuple[Edit, ...] = ()
    choices: tuple[str, ...] = Field(min_length=1)
    value: int | None = None


class Alias(_Site):
    """The test ``test`` is written as the function ``of``."""

    kind: Literal["alias"]
    test: str
    of: str


_SITE: Final[TypeAdapter[Receipt | Value | Mutant | Alias]] = TypeAdapter(
    Annotated[Receipt | Value | Mutant | Alias, Field(discriminator="kind")]
)


class SitesUnknown(SandboxError):
    """Nobody can say where the hidden tests can be instrumented."""


@dataclass(frozen=True)
class FileSites:
    """What was found in one file, in the order of its text."""

    data: bytes
    receipts: tuple[Receipt, ...] = ()
    values: tuple[Value, ...] = ()
    mutants: tuple[Mutant, ...] = ()
    aliases: tuple[Alias, ...] = ()

    def function(self, test: str) -> str:
        """Return the function that the test id ``test`` is written as, by its name within the file."""
        path, _, name = test.partition("::")
        if path.endswith(".py"):
            name = name.partition("[")[0]
        elif path.endswith(".go"):
            name = name.partition("/")[0]
        elif name not in self._names:
            name = max((known for known in self._names if _may_be(known, name)), key=len, default=name)
        return next((alias.of for alias in self.aliases if alias.test == name), name)

    @cached_property
    def _names(self) -> frozenset[str]:
        return frozenset([*(site.test for site in self.receipts), *(site.test for site in self.mutants)])


Sites = dict[str, FileSites]
"""By path of the test file; a file in which nothing can be found is not there."""


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
        Command(
            argv=("{python}", "-I", "-S", "-B", "-c", driver_source(driver), "{records}", "{site}", "{packages}"),
            stdin=json.dumps({"files": texts, "runner": runner, "program": program}).encode("ascii"),
            timeout_seconds=_SECONDS,
            records=True,
        )
    )
    if not done.ok or done.records_truncated:
        words = done.stderr.decode("utf-8", "replace").strip()[-300:]
        raise SitesUnknown(f"the hidden tests could not be instrumented: {words or 'the search did not end'}.")
    found: dict[str, list[Receipt | Value | Mutant | Alias]] = {path: [] for path in texts}
    for line in done.records.split(b"\n")[:-1]:
        try:
            site = _SITE.validate_json(line)
        except ValidationError as error:
            raise SitesUnknown(f"the hidden tests could not be instrumented: {error}") from error
        found[site.file].append(site)
    return {
        path: FileSites(
            data=texts[path].encode("utf-8"),
            receipts=tuple(site for site in sites if isinstance(site, Receipt)),
            values=tuple(site for site in sites if isinstance(site, Value)),
            mutants=tuple(site for site in sites if isinstance(site, Mutant)),
            aliases=tuple(site for site in sites if isinstance(site, Alias)),
        )
        for path, sites in found.items()
        if sites
    }


def _may_be(known: str, name: str) -> bool:
    """Return whether ``name`` is a title that ``known`` stands for: the character 0 is whatever a run put there."""
    first, *parts = known.split("\0")
    if not parts or not (name.startswith(first) and name.endswith(parts[-1])):
        return False
    at, end = len(first), len(name) - len(parts[-1])
    for part in parts[:-1]:
        found = name.find(part, at, max(end, 0))
        if found < 0:
            return False
        at = found + len(part)
    return at <= end


def _text(tree: Tree, path: str) -> str | None:
    file = tree.get(path)
    if file is None or file.is_link:
        return None
    try:
        return file.data.decode("utf-8")
    except UnicodeDecodeError:
        return None
