"""Find a Python project's test runner and import roots."""

import re
from pathlib import PurePosixPath
from typing import Final

from typing_extensions import override

from codegate.mining.languages import LanguageSupport, RunnerSettings
from codegate.mining.roots import import_roots
from codegate.suite import RunnerName, Subtree, Tree

_LOAD_TESTS: Final = re.compile(rb"^def load_tests\(", re.MULTILINE)
_FUNCTION: Final = re.compile(rb"^(?:async )?def test\w*\(", re.MULTILINE)
_PYTEST: Final = re.compile(rb"\bpytest\b")
_PYTEST_DJANGO: Final = re.compile(rb"pytest[-_]django|DJANGO_SETTINGS_MODULE\s*=")
_DECLARING: Final = re.compile(
    r"(pyproject\.toml|setup\.cfg|setup\.py|tox\.ini|pytest\.ini|\.pytest\.ini|Pipfile|requirements[^/]*\.(txt|in)"
    r"|requirements/[^/]+\.(txt|in))"
)


class PythonSupport(LanguageSupport):
    """Mining's support for Python."""

    parts = True

    def runner(self, tree: Tree) -> RunnerSettings | None:
        """Return the tree's runner: pytest, unittest or Django's."""
        return RunnerSettings(choose_python_runner(tree))

    @override
    def python_path(self, tree: Tree) -> tuple[str, ...]:
        # A Django project's folder comes first.
        project = django_project(tree) if choose_python_runner(tree) == "django" else None
        above = f"{tree.folder}/" if isinstance(tree, Subtree) else ""
        first = [] if project is None else [f"{above}{project}".rstrip("/")]
        return tuple(dict.fromkeys((*first, *import_roots(tree))))


def choose_python_runner(tree: Tree) -> RunnerName:
    """Return the tree's runner: ``pytest``, ``unittest`` or ``django``.

    Django's own repository and projects with a ``manage.py`` have Django's runner, unless they declare pytest-django.
    Trees that define ``load_tests``, which pytest does not call, have unittest, unless they declare pytest or have a
    test that is a plain function. All other trees have pytest.
    """
    declared = b"\n".join(file.data for path, file in tree.items() if _DECLARING.fullmatch(path) and not file.is_link)
    if "django/__init__.py" in tree and "tests/runtests.py" in tree:
        return "django"
    files = [path for path in tree if _is_test(path)]
    project = django_project(tree)
    inside = project is not None and any(path.startswith(f"{project}/" if project else "") for path in files)
    if inside and not _PYTEST_DJANGO.search(declared):
        return "django"
    sources = [tree[path].data for path in files]
    own = any(map(_LOAD_TESTS.search, sources)) and not any(map(_FUNCTION.search, sources))
    return "unittest" if own and not _PYTEST.search(declared) else "pytest"


def _is_test(path: str) -> bool:
    name = PurePosixPath(path)
    return name.suffix == ".py" and (name.name.startswith("test") or name.stem.endswith("_test"))


def django_project(tree: Tree) -> str | None:
    """Return the folder of the topmost ``manage.py``, or None."""
    found = [path for path in tree if PurePosixPath(path).name == "manage.py" and b"django" in tree[path].data]
    nearest = min(found, key=lambda path: (path.count("/"), path), default=None)
    return None if nearest is None else nearest.rpartition("/")[0]
