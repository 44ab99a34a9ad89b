"""Suites that a stranger wrote: what each of their files could be, ask for, or lead to."""

from collections.abc import Callable
from typing import Final

from tests.redteam.harness.place import Place, attack
from tests.running.world import write_recipe

Change = Callable[[Place], object]

_RUN: Final = ("run", "suite", "--no-gate", "--candidate", "reference", "--sandbox", "bwrap", "--out", "out")
_LAUGHS: Final = "a: &a [x, x]\n" + "".join(
    f"{b}: &{b} [{', '.join([f'*{a}'] * 9)}]\n" for a, b in zip("abcdefgh", "bcdefghi", strict=True)
)


def _append(text: str) -> Change:
    return lambda place: place.write("suite/suite.yml", (place.suite / "suite.yml").read_text() + text)


def _edit(old: str, new: str) -> Change:
    return lambda place: place.replace(place.suite / "suite.yml", old, new)


def _recipe(text: str) -> Change:
    return lambda place: write_recipe(place.suite, text)


def _swap(file: str, kind: str) -> Change:
    return lambda place: place.swap(place.suite / file, kind)


def _linked_file_in_base(place: Place) -> None:
    path = place.problem / "problem.yml"
    text = path.read_text()
    start = text.index("base:")
    place.replace(path, text[start : text.index("\nenvironment:", start) + 1], "base:\n  folder: tree\n")
    (place.suite / "tree" / "calc").mkdir(parents=True)
    (place.suite / "tree" / "calc" / "half.py").symlink_to(place.outside / "file")


_SUITES: Final[dict[str, tuple[Change, str]]] = {
    "aliases": (lambda place: place.write("suite/suite.yml", _LAUGHS), "anchors and aliases are not allowed"),
    "tag": (_append("run: !!python/object/apply:os.system ['id']\n"), "tags are not allowed"),
    "key-twice": (_append("name: other\n"), "the key 'name' is given twice"),
    "depth": (_append("x: " + "[" * 5000 + "\n"), "nested deeper than 32"),
    "suite-pipe": (_swap("suite.yml", "pipe"), "is not a regular file"),
    "hidden-link": (_swap("problems/calc-half/hidden/tests/test_half.py", "link"), "is a symbolic link"),
    "hidden-holes": (_swap("problems/calc-half/hidden/many/large", "holes"), "is larger than"),
    "base-file-link": (_linked_file_in_base, "is a symbolic link"),
    "privileged": (_edit("  day: ", "  privileged: true\n  day: "), "privileged: there is no such key"),
    "environment-outside": (_edit("- id: tests\n", "- id: ../../outside\n"), "environments.0.id"),
    "recipe-takes-an-image": (_recipe("image: evil.example/x:1\n"), "which is not allowed here"),
    "recipe-takes-a-key": (_recipe("secrets: [OPENAI_API_KEY]\n"), "asks for the secrets OPENAI_API_KEY, which"),
    "repository-outside": (_edit("repository: ../repository", "repository: ../../outside/repository"), "leads out of"),
    "test-ids-many": (
        lambda place: (place.problem / "tests.json").write_text('{"FAIL_TO_PASS": [' + "[]," * 2_000_000 + "[]]}"),
        "it holds more than 2000000 values",
    ),
}  # fmt: skip

ATTACKS: Final = {f"suite-{name}": attack(_RUN, words, change) for name, (change, words) in _SUITES.items()}
