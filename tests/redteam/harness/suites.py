"""Suites that a stranger wrote: what each of their files could be, ask for, or lead to."""

from collections.abc import Callable
from typing import Final

from tests.redteam.harness.place import Order, Place

Change = Callable[[Place], object]

_RUN: Final = ("run", "suite", "--no-gate", "--candidate", "reference", "--sandbox", "bwrap", "--out", "out")
_LAUGHS: Final = "a: &a [x, x]\n" + "".join(
    f"{b}: &{b} [{', '.join([f'*{a}'] * 9)}]\n" for a, b in zip("abcdefgh", "bcdefghi", strict=True)
)


def _append(text: str) -> Change:
    def change(place: Place) -> None:
        path = place.suite / "suite.yml"
        path.write_text(path.read_text() + text)

    return change


def _yml(text: str) -> Change:
    return lambda place: (place.suite / "suite.yml").write_text(text)


def _edit(old: str, new: str) -> Change:
    return lambda place: place.suite_yml(old, new)


def _tests(text: str) -> Change:
    return lambda place: (place.problem / "tests.json").write_text(text)


def _environment(line: str) -> Change:
    return lambda place: place.environment(line)


def _swap(file: str, kind: str) -> Change:
    return lambda place: place.swap(place.suite / file, kind)


def _recipe(text: str) -> Change:
    return lambda place: place.recipe_text(text)


def _linked_file_in_base(place: Place) -> None:
    place.replace(place.problem / "problem.yml", _base_of(place), "base:\n  folder: tree\n")
    (place.suite / "tree" / "calc").mkdir(parents=True)
    (place.suite / "tree" / "calc" / "half.py").symlink_to(place.outside / "file")


def _base_of(place: Place) -> str:
    text = (place.problem / "problem.yml").read_text()
    start = text.index("base:")
    return text[start : text.index("\nenvironment:", start) + 1]


def _many_files(place: Place) -> None:
    folder = place.problem / "hidden" / "many"
    folder.mkdir()
    with (folder / "large").open("wb") as file:
        file.truncate(1 << 34)


_SUITES: Final[dict[str, tuple[Change, str]]] = {
    "aliases": (_yml(_LAUGHS), "anchors and aliases are not allowed"),
    "tag": (_append("run: !!python/object/apply:os.system ['id']\n"), "tags are not allowed"),
    "key-twice": (_append("name: other\n"), "the key 'name' is given twice"),
    "depth": (_append("x: " + "[" * 5000 + "\n"), "nested deeper than 32"),
    "suite-pipe": (_swap("suite.yml", "pipe"), "is not a regular file"),
    "hidden-link": (_swap("problems/calc-half/hidden/tests/test_half.py", "link"), "is a symbolic link"),
    "hidden-holes": (_many_files, "is larger than"),
    "base-file-link": (_linked_file_in_base, "is a symbolic link"),
    "privileged": (_environment("privileged: true"), "privileged: there is no such key"),
    "environment-outside": (_edit("- id: tests\n", "- id: ../../outside\n"), "environments.0.id"),
    "recipe-takes-an-image": (_recipe("image: evil.example/x:1\n"), "which is not allowed here"),
    "recipe-takes-a-key": (_recipe("secrets: [OPENAI_API_KEY]\n"), "asks for the secrets OPENAI_API_KEY, which"),
    "repository-outside": (_edit("repository: ../repository", "repository: ../../outside/repository"), "leads out of"),
    "test-ids-many": (_tests('{"FAIL_TO_PASS": [' + "[]," * 2_000_000 + "[]]}"), "it holds more than 2000000 values"),
}  # fmt: skip


def _order(change: Change, words: str) -> Callable[[Place], Order]:
    def order(place: Place) -> Order:
        change(place)
        return Order(_RUN, words)

    return order


ATTACKS: Final = {f"suite-{name}": _order(change, words) for name, (change, words) in _SUITES.items()}
