"""Every kind of leak, planted one at a time, is found; honest trees and environments are not accused."""

import bz2
import gzip
import io
import json
import lzma
import py_compile
import subprocess
import tarfile
import zipfile
import zlib
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from codegate.grading.drivers import driver_source
from codegate.mining.proving import leak
from codegate.mining.proving.leak import audit_tree
from codegate.suite import LeakAudit, Tree, TreeFile, make_patch, object_id, read_commit

#: A fix of one short line, of which no line tells anything by itself: the hardest to recognise.
BEFORE = '''\
import re
from collections.abc import Iterator

SEPARATOR = re.compile(r"[-_.]+")


def canonical(name: str) -> str:
    """Return a name as the index writes it."""
    return SEPARATOR.sub("-", name)


def split(text: str) -> Iterator[str]:
    for part in text.split(","):
        if part:
            yield part
'''
AFTER = BEFORE.replace('"-", name)', '"-", name).lower()')
#: A fix with distinctive lines.
LARGE = BEFORE.replace(
    "        if part:\n",
    "        cleaned_part = part.strip(WHITESPACE)\n        if cleaned_part and not is_comment(cleaned_part):\n",
)
LESS = BEFORE.replace("        if part:\n    ", "    ")
OLD_TEST = "from names import canonical\n\n\ndef test_names():\n    assert canonical('a_b') == 'a-b'\n"
TEST = OLD_TEST + "\n\ndef test_capital_letters_are_folded():\n    assert canonical('A.B') == 'a-b'\n"
BASE = {
    "pyproject.toml": "[project]\nname = 'naming'\n",
    "src/naming/names.py": BEFORE,
    "tests/test_names.py": OLD_TEST,
    "README.md": "# naming\n",
}
CHANGED = "naming/names.py"
TEST_ID = "tests/test_names.py::test_capital_letters_are_folded"

Content = str | bytes


def _file(content: Content) -> TreeFile:
    return TreeFile(content.encode() if isinstance(content, str) else content)


def planted(folder: Path, after: str, files: Mapping[str, Content]) -> LeakAudit:
    """Audit the base whose fix is ``after``, with ``files`` in the tree (``workspace/``) and around it."""
    inside = {path.removeprefix("workspace/"): data for path, data in files.items() if path.startswith("workspace/")}
    around = {path: data for path, data in files.items() if not path.startswith("workspace/")}
    base: dict[str, Content] = {**BASE, **inside}
    return search(folder, base, {"tests/test_names.py": TEST}, {"src/naming/names.py": after}, around)


def search(
    folder: Path,
    base: Mapping[str, str] | Mapping[str, Content] | Tree,
    hidden: Mapping[str, Content],
    fix: Mapping[str, Content],
    around: Mapping[str, Content] | None = None,
) -> LeakAudit:
    """Audit a tree and what lies ``around`` it, by the program that runs in the sandbox, with another root.

    ``usr/`` is the system's there, ``layer/`` a recorded build's, all else foreign.
    """
    tree = base if isinstance(base, Tree) else Tree({path: _file(content) for path, content in base.items()})
    tests = {path: _file(content) for path, content in hidden.items()}
    sources = {path: _file(content) for path, content in fix.items()}
    wanted = leak._search_request(tree, tests, sources)
    driver: dict[str, Any] = {}
    exec(driver_source("leak_driver").removesuffix("main()\n"), driver)
    known = [place.removeprefix("/opt/env/") for place in driver["SYSTEM"] if place.startswith("/opt/env/")]
    own = [place for place in driver["toolchains"]() if place.startswith(str(folder))]
    driver["SYSTEM"] = (f"{folder}/usr/", *(f"{folder}/layer/{place}" for place in known), *own)
    driver["LAYER"] = f"{folder}/layer/"
    workspace = folder / "workspace"
    for path, data in {
        **{f"workspace/{path}": file.data for path, file in tree.items() if not file.is_link},
        **{path: _file(content).data for path, content in (around or {}).items()},
    }.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_bytes(data)
    one = driver["LeakSearch"](json.loads(json.dumps(wanted)), str(workspace))
    for file in sorted(folder.rglob("*")):
        if file.is_file() and (not str(file).startswith(f"{folder}/usr/") or one.wants(str(file.parent), file.name)):
            one.search_file(str(file), file.stat().st_size)
    assert not one.unpacker.unread
    inside = audit_tree(tree, tests, sources)
    return LeakAudit(
        fix_lines=inside.fix_lines + one.found["fix_lines"],
        hidden_files=inside.hidden_files + one.found["hidden_files"],
        objects=one.found["objects"],
        findings=(*inside.findings, *one.found["findings"]),
    )


def zipped(files: Mapping[str, Content]) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        for path, content in files.items():
            archive.writestr(path, content)
    return out.getvalue()


def tarred(files: Mapping[str, Content], mode: str = "w:gz", form: int = tarfile.PAX_FORMAT) -> bytes:
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode=mode, format=form) as archive:  # type: ignore[call-overload]
        for path, content in files.items():
            data = content.encode() if isinstance(content, str) else content
            entry = tarfile.TarInfo(path)
            entry.size = len(data)
            archive.addfile(entry, io.BytesIO(data))
    return out.getvalue()


def compiled(text: str, mode: py_compile.PycInvalidationMode | None = None) -> bytes:
    import tempfile

    with tempfile.TemporaryDirectory() as folder:
        source = Path(folder) / "names.py"
        source.write_text(text)
        return Path(py_compile.compile(str(source), doraise=True, invalidation_mode=mode) or "").read_bytes()


def patch(after: str) -> str:
    tree = Tree({"src/naming/names.py": _file(BEFORE)})
    return make_patch(tree, {"src/naming/names.py": _file(after)})


WHEEL = {CHANGED: AFTER, "naming-9.dist-info/METADATA": "Name: naming\n"}
#: As a compiler leaves it: the path of the source, and the names in it, among bytes.
OBJECT = b"!<arch>\0src/naming/names.py\0\1%s\0\2"
DEEP = "x" * 120 + "/naming/names.py"

#: By kind: where it is, and what.
FIXES: dict[str, Callable[[str], tuple[str, Content]]] = {
    "pip's vendored copy": lambda t: ("layer/pip/_vendor/naming/names.py", t),
    "setuptools' vendored copy, of the system": lambda t: ("usr/lib/x/setuptools/_vendor/naming/names.py", t),
    "a released copy": lambda t: ("layer/naming/names.py", t),
    "a copy in another layout": lambda t: ("layer/other/compat/_names.py", t),
    "a bundled wheel": lambda t: ("usr/lib/x/ensurepip/_bundled/pip-9-py3-none-any.whl", zipped({CHANGED: t})),
    "a wheel among the system's": lambda t: ("usr/share/python-wheels/naming-9.whl", zipped({CHANGED: t})),
    "a wheel in a wheel": lambda t: ("layer/v/seed/pip.whl", zipped({"a/b.whl": zipped({"p/_vendor/" + CHANGED: t})})),
    "an egg": lambda t: ("layer/naming-9-py3.11.egg", zipped({CHANGED: t})),
    "a zip in a cache": lambda t: ("tmp/cache/ab/cdef", zipped({"naming-9/src/" + CHANGED: t})),
    "a source distribution": lambda t: ("tmp/naming-9.tar.gz", tarred({"naming-9/src/" + CHANGED: t})),
    "a tar with long names": lambda t: ("tmp/x.tar", tarred({DEEP: t}, "w:", tarfile.GNU_FORMAT)),
    "a tar with longer names": lambda t: ("tmp/x.tar", tarred({"y" * 200 + DEEP: t}, "w:")),
    "a tar of bzip2": lambda t: ("tmp/x.tbz2", tarred({CHANGED: t}, "w:bz2")),
    "a tar of xz": lambda t: ("tmp/x.tar.xz", tarred({CHANGED: t}, "w:xz")),
    "a compressed file": lambda t: ("tmp/names.py.gz", gzip.compress(t.encode())),
    "a compressed file, bzip2": lambda t: ("tmp/n", bz2.compress(t.encode())),
    "a compressed file, xz": lambda t: ("tmp/n", lzma.compress(t.encode())),
    "a git object": lambda t: ("tmp/objects/ab/" + "c" * 38, zlib.compress(b"blob 9\0" + t.encode())),
    "an archive in the tree": lambda t: ("workspace/third_party/naming.zip", zipped({CHANGED: t})),
    "a release in the tree": lambda t: ("workspace/dist/naming-9.tar.gz", tarred({CHANGED: t})),
    "a git object in the tree": lambda t: ("workspace/t/objects/ab/" + "c" * 38, zlib.compress(b"blob\0" + t.encode())),
    "a build folder": lambda t: ("workspace/build/lib/" + CHANGED, t),
    "a backup": lambda t: ("workspace/src/naming/names.py.orig", t),
    "another indentation and quoting": lambda t: (
        "workspace/vendor/names.py", "if True:\n" + "".join("\t" + x + "\n" for x in t.replace('"', "'").splitlines()),
    ),
    "Windows' line ends": lambda t: ("workspace/vendor/names.py", t.replace("\n", "\r\n")),
    "a patch": lambda t: ("workspace/debian/patches/fix.patch", patch(t)),
    "a patch outside": lambda t: ("home/fix.diff", patch(t)),
    "a patch, packed": lambda t: ("home/fix.diff.gz", gzip.compress(patch(t).encode())),
    "a text with the code in it": lambda t: ("home/notes.json", json.dumps({"code": t})),
}  # fmt: skip


AFTERS = {"one short line": AFTER, "long lines": LARGE, "a deletion": LESS}
#: Each kind of fix is looked for in places that are read as they are, in others only the hardest to recognise.
PLAIN = (
    "a released copy", "a copy in another layout", "a build folder", "another indentation and quoting", "a patch",
    "a text with the code in it",
)  # fmt: skip


@pytest.mark.parametrize(
    ("kind", "fix"), [(kind, fix) for kind in FIXES for fix in AFTERS if kind in PLAIN or fix == "one short line"]
)
def test_the_fix_is_found_wherever_it_is(tmp_path: Path, kind: str, fix: str) -> None:
    plant, after = FIXES[kind], AFTERS[fix]
    for text, clean in ((BEFORE, True), (after, False)):
        place, content = plant(text)
        if text == BEFORE and content == patch(text):
            continue  # nothing to say
        found = planted(tmp_path / str(clean), after, {place: content})
        if clean and "/objects/" not in place:
            assert found.clean, found
        if not clean:
            assert found.fix_lines, found
            assert found.findings


def test_what_was_compiled_from_the_fix_or_a_hidden_test_is_found_in_a_recorded_build(tmp_path: Path) -> None:
    names = b"cleaned_part\0WHITESPACE\0is_comment"
    objects: dict[str, tuple[bytes, int, int]] = {
        "layer/home/.cache/go-build/ab/cd-d": (OBJECT % names, 1, 0),
        "workspace/target/debug/naming": (OBJECT % names, 1, 0),
        "layer/home/.cache/other": (OBJECT % b"cleaned_part", 0, 0),
        "layer/wheels/go/bin/go": (OBJECT % names, 0, 0),  # a toolchain that an index brought
        "layer/test": (OBJECT % b"test_names.py\0test_capital_letters_are_folded", 0, 1),
        f"layer/x/objects/{object_id(LARGE.encode())[:2]}/{object_id(LARGE.encode())[2:]}": (b"x", 0, 0),
        f"layer/x/objects/ab/{'c' * 38}": (b"x", 0, 0),
    }
    for number, (place, (data, fix, hidden)) in enumerate(objects.items()):
        tests, source = {"tests/test_names.py": TEST}, {"src/naming/names.py": LARGE}
        found = search(tmp_path / str(number), BASE, tests, source, {place: data})
        assert (found.fix_lines, found.hidden_files) == (fix, hidden), (place, found)
        assert found.objects == (object_id(LARGE.encode())[2:] in place), (place, found)


@pytest.mark.parametrize("place", ["layer/pip/_vendor/naming/names.py", "usr/lib/x/_vendor/naming/names.py"])
def test_a_vendored_copy_of_a_later_release_is_found_by_its_path(tmp_path: Path, place: str) -> None:
    """The fix is in it, but what is around it has changed since."""
    later = AFTER.replace("def canonical(name: str) -> str:", "def canonical(name):").replace("def split", "def parts")
    later = later.replace("as the index writes it", "in its normal form")
    for text, clean in ((later.replace(".lower()", ""), True), (later, False)):
        found = planted(tmp_path / str(clean), AFTER, {place: text})
        assert found.clean is clean, found


NAMED = AFTER.replace("name).lower()", "name.translate(FOLDED_LETTERS))")


@pytest.mark.parametrize(
    ("place", "after"),
    [
        ("workspace/src/naming/__pycache__/names.cpython-311.pyc", NAMED),  # of a later state than its source
        ("layer/naming/names.pyc", NAMED),
        ("layer/naming/names.pyc", AFTER),  # without a source, nobody can tell
        ("usr/lib/x/_vendor/naming/__pycache__/names.cpython-311.pyc", NAMED),
        ("tmp/naming/names.pyc", NAMED),
    ],
)
def test_byte_code_of_the_fix_is_found(tmp_path: Path, place: str, after: str) -> None:
    found = planted(tmp_path / "a", after, {place: compiled(after)})
    assert found.fix_lines
    assert "byte code" in found.findings[0]
    if after == NAMED:
        assert planted(tmp_path / "b", NAMED, {place: compiled(BEFORE)}).clean


def test_a_module_of_a_package_is_no_copy_of_a_top_level_one(tmp_path: Path) -> None:
    for init, clean in (({}, False), ({"usr/lib/other/__init__.py": ""}, True)):
        around: dict[str, Content] = {"usr/lib/other/__pycache__/names.cpython-311.pyc": compiled(LARGE), **init}
        found = search(tmp_path / str(clean), {"names.py": BEFORE}, {}, {"names.py": LARGE}, around)
        assert found.clean is clean, found


def test_byte_code_of_a_source_beside_it_says_no_more_than_that(tmp_path: Path) -> None:
    """A word that the fix adds may be a part of a longer one that was always there."""
    after = f"{BEFORE}\n\nIter = canonical(str(SEPARATOR))\n"
    place, mode = "layer/other/naming/names.py", py_compile.PycInvalidationMode.UNCHECKED_HASH
    for text, clean in ((BEFORE, True), (after, False)):
        cached = {"layer/other/naming/__pycache__/names.cpython-311.pyc": compiled(text, mode)}
        assert planted(tmp_path / str(clean), after, {place: BEFORE, **cached}).clean is clean


TESTS: dict[str, tuple[str, Content]] = {
    "pytest's cache": ("workspace/.pytest_cache/v/cache/nodeids", json.dumps([TEST_ID], indent=2)),
    "pytest's cache of failures": ("tmp/.pytest_cache/v/cache/lastfailed", json.dumps({TEST_ID: True})),
    "a list of ids": ("workspace/known_failures.txt", f"# {TEST_ID}\n"),
    "the changelog": ("workspace/CHANGES.md", "- Capitals are folded (see `test_capital_letters_are_folded`).\n"),
    "a workflow": ("workspace/.github/workflows/ci.yml", f"run: pytest --deselect {TEST_ID}\n"),
    "byte code of the test": (
        "workspace/tests/__pycache__/test_names.cpython-311-pytest-8.3.4.pyc", compiled(TEST.partition("\n")[2]),
    ),
    "an index of names": ("workspace/tags", "test_capital_letters_are_folded\ttests/test_names.py\t/^def/\n"),
    "a log, packed": ("tmp/log.gz", gzip.compress(f"PASSED {TEST_ID}\n".encode())),
    "the test itself": ("tmp/t.txt", TEST),
    "the test itself, in a wheel": ("layer/naming-9.whl", zipped({"tests/test_names.py": TEST})),
    "the test itself, in the tree": ("workspace/old/t.py", TEST),
}  # fmt: skip


@pytest.mark.parametrize(("place", "content"), TESTS.values(), ids=TESTS.keys())
def test_hidden_tests_and_their_names_are_found(tmp_path: Path, place: str, content: Content) -> None:
    found = planted(tmp_path, AFTER, {place: content})
    assert found.hidden_files, found


def test_titles_of_tests_in_a_cache_are_found(tmp_path: Path) -> None:
    base = {
        "src/a.js": "x\n",
        "test/a.test.js": "it('adds numbers', f)\n",
        "test/b.test.js": "it('folds capitals', f)\n",
    }
    hidden = {"test/a.test.js": base["test/a.test.js"] + "it('folds capitals', g)\n"}
    cache = json.dumps({"test/a.test.js": [{"title": "folds capitals"}]})
    assert search(tmp_path / "a", base, hidden, {"src/a.js": "y\n"}).clean
    assert search(tmp_path / "b", {**base, ".cache/results": cache}, hidden, {"src/a.js": "y\n"}).hidden_files


HONEST: dict[str, dict[str, Content]] = {
    "caches of earlier runs": {
        "workspace/.pytest_cache/v/cache/nodeids": '["tests/test_names.py::test_names"]',
        "workspace/src/naming/__pycache__/names.cpython-311.pyc": compiled(BEFORE),
    },
    "a test of the same name elsewhere": {
        "workspace/tests/test_other.py": "def test_capital_letters_are_folded():\n    assert 'A'.lower() == 'a'\n"
    },
    "a changelog of before": {"workspace/CHANGES.md": "- Names are canonical, in capitals and small letters.\n"},
    "patches of other things": {"workspace/debian/patches/a.patch": "--- a/x\n+++ b/x\n@@ -1 +1 @@\n-import re\n+x\n"},
    "modules of the same name": {
        "layer/other/names.py": "def canonical(name):\n    return name.lower()\n", "usr/lib/x/names.py": "import re\n",
    },
    "a vendored copy without the fix": {"layer/pip/_vendor/naming/names.py": BEFORE},
    "an older release in a wheel": {"layer/seed/naming.whl": zipped({CHANGED: BEFORE.replace("_.", ".")})},
    "data in archives": {
        "workspace/tests/data.zip": zipped({"a.txt": "x" * 999}), "workspace/t/data.tar.gz": tarred({"a": b"\0" * 99}),
    },
    "a list of files, one called as a hidden test": {
        "workspace/src/naming.egg-info/SOURCES.txt": "tests/test_capital_letters_are_folded.py\n"
    },
    "broken archives": {
        "workspace/tests/bad.zip": b"PK\3\4" + b"x" * 99, "workspace/tests/bad.gz": b"\x1f\x8b" + b"x" * 99,
        "workspace/tests/bad.tar": b"\0" * 257 + b"ustar" + b"\xff" * 300, "workspace/x.txt": "x\x9c is no deflate\n",
        "workspace/tests/bad.xz": b"\xfd7zXZ\0" + b"x" * 50, "workspace/tests/bad.bz2": b"BZh9" + b"x" * 50,
    },
    "a repository as test data": {"workspace/tests/repo/objects/ab/" + "c" * 38: zlib.compress(b"blob 3\0abc")},
}  # fmt: skip


@pytest.mark.parametrize("files", HONEST.values(), ids=HONEST.keys())
def test_honest_trees_and_environments_are_clean(tmp_path: Path, files: dict[str, Content]) -> None:
    for number, after in enumerate((AFTER, LARGE, LESS)):
        found = planted(tmp_path / str(number), after, files)
        assert found.clean, found


def test_the_tests_of_the_machines_own_python_are_not_accused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.base_prefix", f"{tmp_path}/home/.pyenv/versions/3.11.9")
    mention = {"home/.pyenv/versions/3.11.9/lib/python3.11/test/test_x.py": "test_capital_letters_are_folded = None\n"}
    assert planted(tmp_path, AFTER, mention).clean


def test_a_few_common_lines_are_no_copy(tmp_path: Path) -> None:
    before, after = (
        "def f(x):\n    if x:\n        return x\n",
        "def f(x):\n    if x:\n        x += 1\n        return x\n",
    )
    base = {"src/p/a.py": before, "tests/test_a.py": OLD_TEST}
    found = search(tmp_path, base, {"tests/test_a.py": TEST}, {"src/p/a.py": after}, {"layer/b.py": after + "y = 1\n"})
    assert found.clean, found


def test_the_problems_of_a_real_history_are_clean(tmp_path: Path) -> None:
    """The latest commits of the bundled suite's repository that have source and tests."""
    repository = tmp_path / "repository"
    bundle = Path(__file__).parents[2] / "suites" / "quickstart" / "history.fast-export"
    subprocess.run(["git", "init", "--quiet", str(repository)], check=True)
    subprocess.run(["git", "fast-import", "--quiet"], cwd=repository, input=bundle.read_bytes(), check=True)
    log = ["git", "log", "--format=%H %P", "--first-parent", "main"]
    checked = 0
    for line in subprocess.run(log, cwd=repository, check=True, capture_output=True, text=True).stdout.splitlines():
        commit, *parents = line.split()
        if not parents or checked == 10:
            continue
        base, fixed = read_commit(repository, parents[0]), read_commit(repository, commit)
        changed = {path: file for path, file in fixed.items() if base.get(path) != file and path in base}
        hidden = {path: file.data for path, file in changed.items() if path.startswith("tests/")}
        fix = {path: file.data for path, file in changed.items() if path.endswith(".py") and path not in hidden}
        if hidden and fix:
            checked += 1
            found = search(tmp_path / commit, base, hidden, fix)
            assert found.clean, (commit, found)
    assert checked == 10


def test_a_tree_carries_no_part_of_its_repository(tmp_path: Path) -> None:
    """Tags, notes, the stash, logs of references, packs and bundles all stay where they are."""

    def git(*words: str, text: str = "") -> str:
        return subprocess.run(
            ["git", "-c", "user.name=a", "-c", "user.email=a@b", *words],
            cwd=tmp_path, check=True, capture_output=True, text=True, input=text or None,
        ).stdout.strip()  # fmt: skip

    git("init", "--quiet", "--initial-branch=main")
    (tmp_path / "names.py").write_text(BEFORE)
    git("add", ".")
    git("commit", "-qm", "base")
    base = git("rev-parse", "HEAD")
    (tmp_path / "names.py").write_text(AFTER)
    git("commit", "-qam", "fix")
    git("tag", "-a", "v9", "-m", "fixed")
    git("notes", "add", "-m", AFTER)
    (tmp_path / "names.py").write_text(LARGE)
    git("stash")
    git("reset", "-q", "--hard", base)
    git("repack", "-adq")
    tree = read_commit(tmp_path, base)
    assert {path: file.data.decode() for path, file in tree.items()} == {"names.py": BEFORE}


@given(
    st.binary(max_size=600),
    st.sampled_from([b"PK\3\4", b"\x1f\x8b\x08", b"BZh9", b"\xfd7zXZ\0", b"x\x9c", b"\0" * 257 + b"ustar"]),
)
def test_no_archive_is_too_odd(data: bytes, magic: bytes) -> None:
    texts: dict[str, Any] = {}
    exec(driver_source("leak_texts_driver"), texts)
    unpacker = texts["Unpacker"]((".py",), {"names"})
    for content in (magic + data, data, zipped({"a": magic + data}), gzip.compress(magic + data)):
        assert all(isinstance(name, str) for name, _ in unpacker.texts("x", content, True))


def test_a_bomb_is_not_unpacked_and_not_passed_over(tmp_path: Path) -> None:
    texts: dict[str, Any] = {}
    exec(driver_source("leak_texts_driver"), texts)
    unpacker = texts["Unpacker"]((".py",), set())
    unpacker.left = 1 << 20
    bomb = zipped({f"{number}.txt": bytes(1 << 20) for number in range(9)})
    assert sum(len(data) for _, data in unpacker.texts("bomb.zip", bomb, True)) <= (1 << 20) + len(bomb)
    assert unpacker.unread
