import json
from collections.abc import Iterator, Mapping
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from codegate.grading import Sandboxes
from codegate.grading.drivers import driver_source
from codegate.mining.proving import leak
from codegate.mining.proving.leak import audit_leaks, audit_tree, own_names
from codegate.sandbox import Command, Sandbox, SandboxError
from codegate.sandbox.bubblewrap import BubblewrapBackend
from codegate.suite import LeakAudit, ProblemLimits, Tree, TreeFile
from tests.kit.environment import PLAIN, recorded, sandboxes_of

FIX = "def answer(question):\n    if question is None:\n        return fallback_answer(question)\n    return 42\n"
HIDDEN = "import pkg\n\n\ndef test_answer_to_nothing():\n    assert pkg.answer(None) == 'no question at all'\n"


def _files(content: Mapping[str, str]) -> dict[str, TreeFile | None]:
    return {path: TreeFile(text.encode()) for path, text in content.items()}


def _tree(content: Mapping[str, str]) -> Tree:
    return Tree().overlay(_files(content))


class TestTree:
    def _audit(self, base: Mapping[str, str], fix: str = FIX) -> LeakAudit:
        return audit_tree(
            _tree({"pkg.py": "x = 1\n", **base}), _files({"test_pkg.py": HIDDEN}), _files({"pkg.py": fix})
        )

    def test_an_honest_tree_is_clean(self) -> None:
        assert self._audit({"other.py": "def answer(question):\n    return 42\n"}).clean

    def test_a_copy_of_the_fix_is_found(self) -> None:
        found = self._audit({"build/lib/pkg.py": FIX})
        assert found.fix_lines == 3
        assert found.findings == ("build/lib/pkg.py has 3 of the 3 distinctive lines of the fix",)

    def test_a_patch_of_the_fix_is_not_taken_for_its_lines_but_a_hidden_test_is_found_anywhere(self) -> None:
        found = self._audit({"docs/example.txt": HIDDEN})
        assert (found.hidden_files, found.fix_lines) == (1, 0)
        assert not found.clean

    def test_one_line_in_common_is_no_copy(self) -> None:
        assert self._audit({"other.py": "    return fallback_answer(question)\n"}).clean


@pytest.mark.parametrize(
    ("content", "names"),
    [
        ({"pyproject.toml": "[project]\nname = 'Some.Thing'\n"}, ("some-thing",)),
        ({"pyproject.toml": "[tool.poetry]\nname = 'thing'\n"}, ("thing",)),
        ({"setup.cfg": "[metadata]\nname = thing\n"}, ("thing",)),
        ({"setup.py": "from setuptools import setup\nsetup(name='thing', packages=['other'])\n"}, ("thing",)),
        ({"setup.py": "NAME = 'thing'\nsetup(name=NAME)\n"}, ("thing",)),
        ({"package.json": '{"name": "@scope/thing"}'}, ("@scope/thing",)),
        ({"go.mod": "// x\nmodule example.org/thing\n"}, ("example.org/thing",)),
        ({"Cargo.toml": "[package]\nname = 'thing'\n"}, ("thing",)),
        ({"pyproject.toml": "[project", "setup.cfg": "name", "package.json": "[]", "go.mod": ""}, ()),
        ({}, ()),
    ],
)
def test_a_project_is_known_by_its_declarations(content: dict[str, str], names: tuple[str, ...]) -> None:
    assert own_names(_tree(content)) == names


@given(
    st.sampled_from(["pyproject.toml", "setup.cfg", "setup.py", "package.json", "go.mod", "Cargo.toml"]),
    st.binary(max_size=300),
)
def test_no_declaration_is_too_odd(path: str, data: bytes) -> None:
    assert isinstance(own_names(Tree({path: TreeFile(data)})), tuple)


@pytest.mark.parametrize(
    "path",
    [
        "venv/lib/python3.11/site-packages/own-1.0.dist-info/METADATA",
        "venv/lib/python3.11/site-packages/pkg/a.py",  # of a fork, by another name
        "node_modules/own/package.json",
        "node_modules/previous/package.json",
        "node_modules/x/node_modules/@a/previous/package.json",
        "pkg/mod/example.com/!own@v1.0.0/main.go",
        "registry/src/index.example.com-1/own-1.0.0/lib.rs",
    ],
)
def test_a_release_is_found_wherever_and_under_whatever_name_it_is_installed(tmp_path: Path, path: str) -> None:
    content = FIX if path.endswith("pkg/a.py") else '{"name": "own"}'
    for file, text in {path: content, "node_modules/b/package.json": "[" * 9999}.items():
        (tmp_path / file).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / file).write_text(text)
    assert _has_release(tmp_path, "own", "example.com/Own")
    assert _has_release(tmp_path, "other") is ("pkg/a.py" in path)


@pytest.mark.parametrize(
    ("file", "text"),
    [
        ("direct_url.json", '{"url": "file:///workspace", "dir_info": {"editable": true}}'),
        ("RECORD", "__editable__.own-1.0.pth,sha256=GhIFCIkoCNOM,18\nown-1.0.dist-info/METADATA,,50\n"),  # by tox
        ("RECORD", "../../../bin/own,,9\n_own.pth,,18\n_editable_impl_own.py,,9\nown-1.0.dist-info/METADATA,,50\n"),
        ("RECORD", ".gitignore,,2\nown.pth,,10\nown-1.0.dist-info/METADATA,,50\n"),  # by tox and PDM
    ],
)
def test_a_project_that_is_installed_from_its_folder_is_no_release(tmp_path: Path, file: str, text: str) -> None:
    folder = tmp_path / "site-packages" / "own-1.0.dist-info"
    folder.mkdir(parents=True)
    (folder / "METADATA").touch()
    assert _has_release(tmp_path, "own")
    (folder / file).write_text(text)
    assert not _has_release(tmp_path, "own")
    (tmp_path / "site-packages/pkg").mkdir()
    (tmp_path / "site-packages/pkg/a.py").write_text(FIX)
    assert _has_release(tmp_path, "own")


@pytest.mark.parametrize("path_file", ["distutils-precedence.pth", "own-1.0-nspkg.pth"])
def test_a_release_with_a_path_file_beside_its_code_is_found(tmp_path: Path, path_file: str) -> None:
    folder = tmp_path / "site-packages" / "own-1.0.dist-info"
    folder.mkdir(parents=True)
    (folder / "METADATA").touch()
    (folder / "RECORD").write_text(f"{path_file},,18\nown/__init__.py,,9\nown-1.0.dist-info/METADATA,,50\n")
    assert _has_release(tmp_path, "own")


def test_what_a_build_says_of_the_tree_itself_is_no_release(tmp_path: Path) -> None:
    folder = tmp_path / ".pdm-build/own-1.0.dist-info"
    folder.mkdir(parents=True)
    (folder / "METADATA").touch()
    assert not _has_release(tmp_path, "own", workspace=tmp_path)
    (folder / "RECORD").touch()
    assert _has_release(tmp_path, "own", workspace=tmp_path)


def test_a_release_whose_folder_has_no_such_file_is_of_another_time(tmp_path: Path) -> None:
    folder = tmp_path / "site-packages"
    (folder / "own-1.0.dist-info").mkdir(parents=True)
    (folder / "own-1.0.dist-info/METADATA").touch()
    assert _has_release(tmp_path, "own"), "it may be anywhere"
    (folder / "pkg").mkdir()
    assert not _has_release(tmp_path, "own")
    (folder / "pkg/a.py").write_text(FIX)
    assert _has_release(tmp_path, "own")


@pytest.mark.parametrize(
    ("released", "found"), [("4.12.18", False), ("4.13.0", True), ("5.0.0-rc.1", True), ("latest", True)]
)
def test_a_release_of_npm_that_is_older_than_the_tree_is_no_leak(tmp_path: Path, released: str, found: bool) -> None:
    package = tmp_path / "node_modules/own/package.json"
    package.parent.mkdir(parents=True)
    package.write_text(json.dumps({"name": "own", "version": released}))
    assert _has_release(tmp_path, "own", version="4.13.0") is found
    assert _has_release(tmp_path, "own")


def test_a_release_may_have_a_fix_that_only_deletes_lines_unless_it_has_these(tmp_path: Path) -> None:
    package = tmp_path / "site-packages/pkg"
    package.mkdir(parents=True)
    (tmp_path / "site-packages/own-1.0.dist-info").mkdir()
    (tmp_path / "site-packages/own-1.0.dist-info/METADATA").touch()
    for text, found in (("def answer(): ...\n", True), (FIX, False)):
        (package / "a.py").write_text(text)
        assert _has_release(tmp_path, "own", base=FIX, fix="") is found


def _has_release(
    folder: Path, *names: str, version: str = "", workspace: Path = Path("/workspace"), base: str = "", fix: str = FIX
) -> bool:
    """Return whether the program of the sandbox takes what is in a folder for a copy of a project with the fix."""
    driver: dict[str, Any] = {}
    exec(driver_source("leak_driver").removesuffix("main()\n"), driver)
    changed = "src/pkg/a.py"
    request = leak._search_request(_tree({changed: base} if base else {}), {}, _files({changed: fix}))
    wanted = request | {"names": names, "version": version}
    search = driver["LeakSearch"](wanted, str(workspace))
    for path in folder.rglob("*"):
        if path.is_file():
            search.look_for_release(str(path))
    return bool(search.has_release())


@pytest.fixture
def sandbox(sandboxes: Sandboxes) -> Iterator[Sandbox]:
    with sandboxes.open(PLAIN.manifest, ProblemLimits()) as found:
        yield found


@pytest.mark.bwrap
class TestEnvironment:
    """``iniconfig`` comes with pytest: a project that its own environment holds a release of."""

    def _audit(self, sandbox: Sandbox, fix: str) -> LeakAudit:
        path = "src/iniconfig/__init__.py"
        tree = _tree({"pyproject.toml": "[project]\nname = 'iniconfig'\n", path: "x = 1\n"})
        return audit_leaks(tree, _files({"test_pkg.py": HIDDEN}), _files({path: fix}), sandbox)

    def test_only_a_release_that_may_have_the_fix_is_a_leak(self, sandbox: Sandbox) -> None:
        assert self._audit(sandbox, FIX).clean  # the release has the file, without the fix
        released = self._audit(sandbox, "class SectionWrapper:\nclass IniConfig:\n")
        assert released.own_release
        assert "released copy" in released.findings[-1]
        assert released.fix_lines  # and the place where it has the fix

    def test_what_lies_around_in_the_sandbox_is_found(self, sandbox: Sandbox) -> None:
        program = (
            "import os, sys\n"
            "for path in ('/tmp/x/.git/objects/ab/' + 'c' * 38, '/tmp/x/.git/FETCH_HEAD', '/dev/shm/a.bundle'):\n"
            "    os.makedirs(os.path.dirname(path), exist_ok=True)\n"
            "    open(path, 'w').close()\n"
            "open('/tmp/hidden.py', 'w').write(sys.stdin.read())\n"
            f"open('/tmp/f.py', 'w').write({FIX!r})\n"
        )
        assert sandbox.run(Command(("{python}", "-c", program), stdin=HIDDEN.encode())).ok
        found = self._audit(sandbox, FIX)
        assert (found.objects, found.hidden_files, found.fix_lines) == (3, 2, 3)  # a test by its content and its lines

    def test_an_audit_that_cannot_look_is_no_clean_one(self, sandbox: Sandbox, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(leak, "_SECONDS", 0.001)
        with pytest.raises(SandboxError, match="did not end"):
            self._audit(sandbox, FIX)


@pytest.mark.bwrap
def test_what_a_compiler_left_counts_only_where_an_environment_was_built_from_a_tree(
    bwrap_backend: BubblewrapBackend,
) -> None:
    make = "printf 'order.go\\0cancel_order\\0restore_order' >\"$HOME/std.o\""
    environment = recorded("hand", make)
    tree, fix = (
        _tree({"order.go": "package order\n"}),
        _files({"order.go": "package order\ncancel_order restore_order\n"}),
    )
    with (
        closing(sandboxes_of(bwrap_backend, environment)) as sandboxes,
        sandboxes.open(environment.manifest, ProblemLimits()) as sandbox,
    ):
        assert audit_leaks(tree, {}, fix, sandbox).fix_lines
        assert audit_leaks(tree, {}, fix, sandbox, from_tree=False).clean
