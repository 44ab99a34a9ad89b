"""What the tests of languages share: the classes of paths, and the units of test files."""

from collections.abc import Mapping

from codegate.languages import PathClassifier
from codegate.languages.controls import EditableTest
from codegate.languages.searching import find
from codegate.suite import RunnerName, Tree, TreeFile


def classifier(files: Mapping[str, str]) -> PathClassifier:
    return PathClassifier.of(Tree({path: TreeFile(text.encode()) for path, text in files.items()}))


def check(files: Mapping[str, str], expected: Mapping[str, str], *, modules: bool = False) -> None:
    """Check the classes of paths; ``expected`` has, by class, paths with blanks between them.

    With ``modules``, the files of class ``test`` are all that a test runner collects.
    """
    room = classifier(files)
    paths = {kind: listed.split() for kind, listed in expected.items()}
    assert {kind: [path for path in listed if room.classify(path) == kind] for kind, listed in paths.items()} == paths
    for kind, listed in paths.items() if modules else ():
        assert {path: room.is_test_module(path) for path in listed} == dict.fromkeys(listed, kind == "test")


def units_of(path: str, text: str, runner: RunnerName) -> dict[str, EditableTest]:
    """Return a file's tests by their names."""
    return {unit["name"]: EditableTest.model_validate(unit) for unit in find(path, text, runner)}


def changes(unit: EditableTest, text: str, *, strong: bool = True) -> dict[str, tuple[str, ...]]:
    """Return the replacements of a test's sites, by the replaced text."""
    data = text.encode()
    return {data[site.start : site.end].decode(): site.texts for site in unit.sites if site.strong is strong}
