"""Around the grading: environments prepared once, walls looked at first, and what happens when they fall."""

import contextlib
import os
import signal
import sys
import threading
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import replace
from datetime import date
from pathlib import Path

import pytest

from codegate.environments import Recipe, ServiceRecipe, environment_of
from codegate.environments.tools import is_obtainable
from codegate.grading import Sandboxes, TestSelection, run_hidden_tests
from codegate.grading import test_selection as selection_of
from codegate.grading.controls.copies import OriginalTests, UnreadableTests
from codegate.grading.controls.flips import cached_originals
from codegate.grading.drivers import driver_source
from codegate.sandbox import (
    BuildSandbox,
    Command,
    Completed,
    Description,
    EnvironmentRecipe,
    PreparedEnvironment,
    Sandbox,
    SandboxError,
    SandboxFile,
    SandboxLimits,
)
from codegate.sandbox.bubblewrap import BubblewrapBackend
from codegate.suite import Base, ProblemLimits
from tests.grading.worlds import EXPECTED, FIX, SOURCE, TEST, TESTS, World
from tests.kit.environment import PLAIN, PYTHON, recorded, sandboxes_of
from tests.kit.recorded import Recorded
from tests.kit.remembered import FOUND

pytestmark = pytest.mark.bwrap

OTHER = recorded("other", "touch made", python=PYTHON)


@pytest.fixture(autouse=True)
def _look_each_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(FOUND, str(tmp_path))


def test_what_an_agent_is_installed_from_is_told_by_its_versions_not_by_its_recipe(
    bwrap_backend: BubblewrapBackend,
) -> None:
    def versions(*setup: str) -> str | None:
        packages = [recorded("agent", *setup)] if setup else []
        with boxes.open_for_agent(PLAIN.manifest, packages, 60) as (_, found):
            return found

    with closing(sandboxes_of(bwrap_backend, PLAIN)) as boxes:
        one = versions("mkdir -p /opt/env/package/one-1.0.dist-info")
        assert one == versions("mkdir /opt/env/package", "mkdir /opt/env/package/one-1.0.dist-info")
        assert one != versions("mkdir -p /opt/env/package/one-1.1.dist-info")
        assert one is not None
        assert versions() is None


class WatchedSandbox:
    """A real sandbox, of which every call is noted, and whose commands may get a variable too many."""

    def __init__(self, sandbox: Sandbox, calls: list[tuple[str, object]], leak: dict[str, str]) -> None:
        self.sandbox, self.calls, self.leak = sandbox, calls, leak

    def put(self, files: tuple[SandboxFile, ...]) -> None:
        self.calls.append(("put", tuple(file.path for file in files)))
        self.sandbox.put(files)

    def run(self, command: Command) -> Completed:
        last = command.argv.index("{records}") if "{records}" in command.argv else 6
        self.calls.append(("run", command.argv[last - 1]))  # the program; one that sets the hash seed may stand before
        return self.sandbox.run(replace(command, environment={**command.environment, **self.leak}))

    def close(self) -> None:
        self.calls.append(("close", None))
        self.sandbox.close()


class WatchedBackend:
    """A real backend with sandboxes that are watched."""

    def __init__(self, backend: BubblewrapBackend, leak: dict[str, str] | None = None) -> None:
        self.backend, self.leak = backend, leak or {}
        self.calls: list[tuple[str, object]] = []
        self.prepared: list[str] = []
        self.built = 0

    @property
    def name(self) -> str:
        return self.backend.name

    def base_image(self, python: str, wanted: str | None = None) -> None:
        """It has none."""

    def prepare(self, recipe: EnvironmentRecipe) -> PreparedEnvironment:
        self.prepared.append(recipe.layer.sha256 if recipe.layer else "")
        time.sleep(0.2)  # so that callers meet here
        return self.backend.prepare(recipe)

    def open(self, environment: PreparedEnvironment, limits: SandboxLimits) -> Sandbox:
        self.calls.append(("open", None))
        return WatchedSandbox(self.backend.open(environment, limits), self.calls, self.leak)

    def describe(self) -> Description:
        return self.backend.describe()

    def open_build(self, recipe: EnvironmentRecipe, limits: SandboxLimits) -> BuildSandbox:
        self.built += recipe.layer is None
        return self.backend.open_build(recipe, limits)

    def close(self) -> None:
        """The backend is the fixture's."""

    def sweep(self) -> int:
        return 0


def _sandboxes(backend: WatchedBackend | BubblewrapBackend) -> "closing[Sandboxes]":
    return closing(sandboxes_of(backend, PLAIN, OTHER))


@pytest.fixture(scope="module")
def watched(bwrap_backend: BubblewrapBackend) -> Iterator[tuple[WatchedBackend, Sandboxes]]:
    """Sandboxes whose walls were looked at, of a backend that is watched."""
    backend = WatchedBackend(bwrap_backend)
    with _sandboxes(backend) as sandboxes:
        sandboxes.prepare(PLAIN.manifest)
        yield backend, sandboxes


def test_an_environment_is_built_once_and_looked_at_once(bwrap_backend: BubblewrapBackend) -> None:
    backend = WatchedBackend(bwrap_backend)
    with _sandboxes(backend) as sandboxes, ThreadPoolExecutor(8) as pool:
        kinds = [PLAIN.manifest, OTHER.manifest] * 4
        found = list(pool.map(sandboxes.prepare, kinds))
    assert len({id(one) for one in found}) == 2
    assert len(set(backend.prepared)) == len(backend.prepared) == 2
    calls = [name for name, _ in backend.calls]
    assert calls.count("open") == 2, "one preflight, of one kind: its walls and its disk limit"
    assert [assurance.sandbox for assurance in sandboxes.assurances] == ["bwrap"]


def test_a_sandbox_with_a_hole_is_refused_every_time(bwrap_backend: BubblewrapBackend) -> None:
    backend = WatchedBackend(bwrap_backend, leak={"OPENAI_API_KEY": "sk-sentinel"})
    with _sandboxes(backend) as sandboxes:
        world = World(sandboxes)
        for _ in range(2):
            with pytest.raises(SandboxError, match="no inherited variables"):
                world.grade({SOURCE: FIX})
    assert [name for name, _ in backend.calls] == ["open", "run", "close"] * 2, "nothing but the probe ever ran"


def test_a_build_that_failed_is_tried_again(bwrap_backend: BubblewrapBackend) -> None:
    backend = WatchedBackend(bwrap_backend)
    broken = recorded("broken", "exit 7", python=PYTHON)
    with closing(sandboxes_of(backend, broken)) as sandboxes:
        for tries in (1, 2):
            with pytest.raises(SandboxError, match="`exit 7` failed with exit code 7"):
                sandboxes.prepare(broken.manifest)
            assert backend.built == 1 + tries, "a look at the toolchains, and builds"


@pytest.mark.requirement("G4")
def test_hidden_tests_come_after_everything_trusted_and_nothing_runs_before(
    watched: tuple[WatchedBackend, Sandboxes],
) -> None:
    backend, sandboxes = watched
    world = World(sandboxes, known=EXPECTED[1:]).validated()
    backend.calls.clear()
    assert world.grade({SOURCE: FIX + "\n", TESTS: "def test_total(): pass\n"}).resolved
    names = [name for name, _ in backend.calls]
    texts, run = ["open", "put", "run", "close"], ["open", "put", "run", "run", "close"]
    assert names == [*texts, *run]
    _, inspected, compiler, _, _, placed, driver, looked, *_ = [what for _, what in backend.calls]
    assert inspected == (f"after/{SOURCE}", f"before/{SOURCE}")
    assert _about("inspect_driver") in str(compiler)
    assert isinstance(placed, tuple)
    assert set(placed) == set(world.base)
    assert _about("pytest_driver", "codegate.languages.python.drivers") in str(driver)
    assert _about("watched_driver") in str(looked)


def _about(*driver: str) -> str:
    """Return what a program says of itself first."""
    return driver_source(*driver).splitlines()[0]


def test_every_grade_has_a_sandbox_of_its_own(watched: tuple[WatchedBackend, Sandboxes]) -> None:
    backend, sandboxes = watched
    world = World(sandboxes)
    leave = FIX + "import os\nassert not os.path.exists('/tmp/left')\nopen('/tmp/left', 'w').close()\n"
    backend.calls.clear()
    with ThreadPoolExecutor(2) as pool:
        assert all(pool.map(lambda _: world.grade({SOURCE: leave}).resolved, range(2)))
    # Of each grade the compiler and the run: nothing to control.
    assert [name for name, _ in backend.calls].count("open") == 2 * 2


def test_hidden_tests_are_searched_once_for_all_patches_and_a_failed_search_is_none(sandboxes: Sandboxes) -> None:
    large = World(sandboxes, hidden={TESTS: TEST + "#" * (1 << 20)})
    other = World(sandboxes, hidden={TESTS: TEST + "LONG = (" + "0,\n" * 100_000 + ")\n"})
    world = World(sandboxes)

    def search(world: World) -> OriginalTests:
        return cached_originals(world.problem, world.base, sandboxes)

    for _ in range(2):
        with pytest.raises(UnreadableTests):
            search(large)
    assert search(world).units
    assert search(world) is search(world)
    assert search(other) != search(world)


def _supervisors() -> set[int]:
    found = set()
    for task in Path("/proc/self/task").iterdir():
        with contextlib.suppress(OSError):
            found |= {int(child) for child in (task / "children").read_text().split()}
    return {pid for pid in found if _name_of(pid) == "bwrap"}


def _runs(argv: Sequence[str]) -> bool:
    """Return whether a process of this machine has these arguments."""
    wanted = "".join(f"{word}\0" for word in argv)
    for place in Path("/proc").glob("[0-9]*/cmdline"):
        with contextlib.suppress(OSError):  # it has ended since
            if place.read_text(errors="replace") == wanted:
                return True
    return False


def _name_of(pid: int) -> str:
    with contextlib.suppress(OSError):  # it has ended since
        return Path(f"/proc/{pid}/comm").read_text().strip()
    return ""


def test_a_sandbox_that_dies_gives_an_error_and_never_a_grade() -> None:
    backend = BubblewrapBackend("dies")
    before = _supervisors()
    sleeps = ("sleep", f"60.{os.getpid()}")  # this machine sees it among its processes
    slow = f"import subprocess\ndef total(prices):\n    subprocess.run({sleeps})\n    return sum(prices)\n"
    with _sandboxes(backend) as sandboxes:
        sandboxes.prepare(PLAIN.manifest)
        world = World(sandboxes)

        over = threading.Event()

        def kill() -> None:
            while not over.wait(0.05):
                for pid in _supervisors() - before if _runs(sleeps) else ():
                    with contextlib.suppress(ProcessLookupError):
                        os.kill(pid, signal.SIGKILL)

        killer = threading.Thread(target=kill)
        killer.start()
        try:
            with pytest.raises(SandboxError):
                world.grade({SOURCE: slow})
        finally:
            over.set()
            killer.join()
    backend.close()


def test_a_backend_that_was_closed_gives_an_error() -> None:
    backend = BubblewrapBackend("closed")
    with _sandboxes(backend) as sandboxes:
        world = World(sandboxes)
        sandboxes.prepare(PLAIN.manifest)
        backend.close()
        with pytest.raises(SandboxError):
            world.grade({SOURCE: FIX})


def test_the_front_door_s_run_of_hidden_tests(sandboxes: Sandboxes) -> None:
    world = World(sandboxes, limits=ProblemLimits(seconds=33, output_kb=17))
    selection = selection_of(world.problem)
    assert selection == TestSelection((TESTS,), timeout_seconds=33, output_bytes=17 << 10, roots=("", "src"))
    before = run_hidden_tests(world.problem, world.base, sandboxes, selection)
    after = run_hidden_tests(world.problem, world.base.overlay(world.problem.fix), sandboxes, selection)
    assert [result.status for result in before.results.values()] == ["failed", "passed"]
    assert [result.status for result in after.results.values()] == ["passed", "passed"]


def test_agents_run_on_the_python_beside_the_environments_own(bwrap_backend: BubblewrapBackend) -> None:
    running = f"3.{sys.version_info[1]}"
    others = [
        f"3.{minor}" for minor in range(9, 15) if f"3.{minor}" != running and is_obtainable("python", f"3.{minor}")
    ]
    if not others:
        pytest.skip("there is one Python on this machine")
    own = recorded("another-python", "touch made", python=others[-1])
    with closing(sandboxes_of(bwrap_backend, own)) as sandboxes:
        assert sandboxes.agent_python(own.manifest) == running
        with sandboxes.open(own.manifest, ProblemLimits()) as sandbox:
            done = sandbox.run(Command(("{interpreter}", "-c", "import sys; print('%d.%d' % sys.version_info[:2])")))
    assert done.stdout.decode().strip() == others[-1]


SERVE = "exec python3 -c \"import http.server as s; s.test(s.SimpleHTTPRequestHandler, port=8125, bind='127.0.0.1')\""
ASK = "python3 -c \"import urllib.request as u; print(u.urlopen('http://127.0.0.1:8125/').status)\""


def test_tests_and_agents_meet_the_services_of_the_recipe(bwrap_backend: BubblewrapBackend, tmp_path: Path) -> None:
    built = Recorded(bwrap_backend, {}, (), (), {}, tmp_path)
    recipe = Recipe(services=(ServiceRecipe(run=SERVE, ready=ASK),))
    base = Base(commit="a" * 40)
    environment = environment_of("shop", recipe, "", day=date(2026, 1, 1), base=base, inputs="b" * 64)
    manifest = environment.manifest
    with closing(Sandboxes(bwrap_backend, {})) as sandboxes:
        sandboxes.add(environment, built.recipe)
        with sandboxes.open(manifest, ProblemLimits()) as sandbox:
            asked = sandbox.run(Command(("sh", "-c", ASK)))
        with sandboxes.open_for_agent(manifest, (), 60) as (sandbox, _):
            asked_by_agent = sandbox.run(Command(("sh", "-c", ASK)))
    assert (asked.stdout, asked_by_agent.stdout) == (b"200\n", b"200\n")
