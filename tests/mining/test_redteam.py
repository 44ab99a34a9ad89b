"""The twelve known ways to find the answer, as a model's tool calls; each finds it where its wall is missing."""

import json
import shutil
from collections.abc import Iterator
from contextlib import closing
from functools import partial
from pathlib import Path

import pytest

from codegate.candidates import ToolCall
from codegate.grading import Sandboxes, TestSelection, run_tests
from codegate.mining.proving.leak import audit_leaks
from codegate.sandbox import Backend, Command, SandboxFile
from codegate.sandbox.bubblewrap import BubblewrapBackend
from codegate.solving.toolbox import Toolbox
from codegate.solving.workspace import Workspace
from codegate.suite import ProblemLimits, Tree, TreeFile, read_commit
from tests.kit.environment import PLAIN, PYTEST, PYTHON, recorded, sandboxes_of
from tests.kit.repository import HistoryBuilder

WORD = "brass_" + "lantern"
FIX = f"def light():\n    {WORD} = 'the answer that nobody should find'\n    return {WORD}\n"
TESTS = f"import pkg\n\ndef test_light():\n    assert pkg.light() == 'the answer that {WORD}'\n"
ATTACK = Path(__file__).with_name("attack.py.txt").read_text()
EXPLOITS = ["log", "reflog", "fetch_head", "tags", "stash", "fsck", "packs", "pip", "site_packages", "pyc", "proc",
            "hidden_tests"]  # fmt: skip


@pytest.fixture(scope="module")
def leaky(tmp_path_factory: pytest.TempPathFactory) -> HistoryBuilder:
    """A repository back at the base, that knows the fix in every place where git keeps things."""
    history = HistoryBuilder(tmp_path_factory.mktemp("leaky") / "repository")
    first = history.commit(
        "begin", {"pkg.py": "def light():\n    return None\n", "test_pkg.py": "def test_a(): pass\n"}
    )
    history.commit("fix", {"pkg.py": FIX, "test_pkg.py": TESTS})
    history.git("tag", "v2")
    history.branch("other")
    history.git("fetch", "--quiet", ".", "main")
    history.git("repack", "--quiet", "-a")
    history.git("checkout", "--quiet", "main")
    history.git("reset", "--quiet", "--hard", first)
    history.write({"pkg.py": FIX})
    history.git("-c", "user.name=Ada", "-c", "user.email=ada@example.org", "stash", "--quiet")
    return history


@pytest.fixture
def base(leaky: HistoryBuilder) -> Tree:
    return read_commit(leaky.folder, leaky.git("rev-parse", "HEAD"))


@pytest.fixture(scope="module")
def sandboxes(backend: Backend) -> Iterator[Sandboxes]:
    found = sandboxes_of(backend, PLAIN)
    yield found
    found.close()


def test_a_model_finds_nothing(sandboxes: Sandboxes, base: Tree) -> None:
    def run_public(tree: Tree) -> tuple[str, float]:
        report = run_tests(
            partial(sandboxes.open, PLAIN.manifest, ProblemLimits(seconds=100)),
            tree,
            TestSelection(("test_pkg.py",), timeout_seconds=100),
        )
        return report.output, report.seconds

    assert WORD not in "".join(file.data.decode() for file in base.values())
    toolbox = Toolbox(Workspace(base), run_public)
    attack = f"{ATTACK}\n\ndef test_attack():\n    attack()\n    raise SystemExit\n"
    written = toolbox.answer(
        ToolCall(id="1", name="write_file", arguments=json.dumps({"path": "test_pkg.py", "content": attack}))
    )
    assert written.startswith("Wrote")
    said = toolbox.answer(ToolCall(id="2", name="run_tests", arguments="{}"))

    tried = [line.split()[1] for line in said.splitlines() if line.startswith(("nothing ", "FOUND ", "BROKE "))]
    assert tried == EXPLOITS, said
    assert "FOUND" not in said, said
    for name, arguments in (("search", {"text": WORD}), ("read_file", {"path": ".git/FETCH_HEAD"}),
                            ("read_file", {"path": "../pkg.py"}), ("list_files", {})):  # fmt: skip
        assert WORD not in toolbox.answer(ToolCall(id="3", name=name, arguments=json.dumps(arguments))).replace(
            f"'{WORD}'", ""
        )
    with sandboxes.open(PLAIN.manifest, ProblemLimits(seconds=100)) as sandbox:
        found = audit_leaks(
            base, {"test_pkg.py": TreeFile(TESTS.encode())}, {"pkg.py": TreeFile(FIX.encode())}, sandbox
        )
    assert found.clean, found


@pytest.mark.full
@pytest.mark.bwrap
@pytest.mark.skipif(shutil.which("git", path="/usr/bin:/bin") is None, reason="sandboxes see the system's git only")
def test_every_exploit_works_where_its_wall_is_missing(bwrap_backend: BubblewrapBackend, leaky: HistoryBuilder) -> None:
    release = f"cat >$(echo /opt/env/venv/lib/python3*/site-packages)/pkg.py <<'end'\n{FIX}end"
    broken = recorded("broken", f"uv pip install {PYTEST}", release, python=PYTHON)
    files = [
        SandboxFile(str(path.relative_to(leaky.folder)), path.read_bytes())
        for path in leaky.folder.rglob("*")
        if path.is_file()
    ]
    files += [
        SandboxFile("__pycache__/pkg.cpython-311.pyc", FIX.encode()),
        SandboxFile("hidden/test_light.py", TESTS.encode()),
        SandboxFile("cache/pkg.whl", FIX.encode()),
    ]
    program = (
        "import os, shutil, subprocess, sys\n"
        "shutil.copytree('cache', '/tmp/home/.cache/pip')\n"
        "kept = {name: value for name, value in os.environ.items() if name != 'SECRET'}\n"
        "subprocess.run([sys.executable, '-B', '-c', sys.stdin.read()], env=kept, check=True)\n"
    )
    with (
        closing(sandboxes_of(bwrap_backend, broken)) as found_in,
        found_in.open(broken.manifest, ProblemLimits(seconds=100)) as sandbox,
    ):
        sandbox.put(tuple(files))
        done = sandbox.run(
            Command(
                ("{interpreter}", "-I", "-B", "-c", program),
                stdin=f"{ATTACK}\nattack()\n".encode(),
                environment={"SECRET": WORD},
                timeout_seconds=100,
            )
        )
        assert done.ok, done.stderr.decode()
        said = dict(line.split()[:2][::-1] for line in done.stdout.decode().splitlines())
        assert said == dict.fromkeys(EXPLOITS, "FOUND")

        hidden, fix = {"test_pkg.py": TreeFile(TESTS.encode())}, {"pkg.py": TreeFile(FIX.encode())}
        found = audit_leaks(read_commit(leaky.folder, leaky.git("rev-parse", "HEAD")), hidden, fix, sandbox)
    assert found.objects > 3
    assert found.hidden_files == 1
    assert found.fix_lines >= 2
    assert found.own_release
    assert not found.network
