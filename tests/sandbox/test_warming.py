"""What one sandbox leaves in the machine is not to be read by the next."""

from pathlib import Path

import pytest

from codegate.sandbox import Command, EnvironmentRecipe, SandboxLimits, bubblewrap
from codegate.sandbox.bubblewrap import BubblewrapBackend
from codegate.sandbox.conformance import ConformanceFailure, Subject
from codegate.sandbox.conformance.isolation import no_counters_of_the_machine
from codegate.sandbox.interpreter import find_interpreter
from codegate.sandbox.system_files import binds, hidden, shown
from codegate.sandbox.warming import warm

pytestmark = pytest.mark.bwrap

PLAIN = EnvironmentRecipe("3.11", "")


def test_counters_of_the_machine_are_found_where_they_are_open(
    bwrap_backend: BubblewrapBackend, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bubblewrap, "substitutes", lambda _: [])
    subject = Subject(bwrap_backend, bwrap_backend.prepare(PLAIN), PLAIN)
    with pytest.raises(ConformanceFailure, match="/proc/sys/fs/dentry-state"):
        no_counters_of_the_machine(subject)


def test_a_second_process_does_not_read_again_and_another_environment_does(tmp_path: Path) -> None:
    read: list[str] = []
    for name in ("one", "one", "two"):
        warm([name], lambda name=name: read.append(name), tmp_path)  # type: ignore[misc]
    assert read == ["one", "two"]


def test_of_the_machine_there_is_what_programs_need(bwrap_backend: BubblewrapBackend) -> None:
    sandbox = bwrap_backend.open(bwrap_backend.prepare(PLAIN), SandboxLimits())
    program = (
        "import ctypes, ctypes.util, glob, locale, multiprocessing, os, sqlite3, ssl, subprocess, time, zoneinfo\n"
        "assert os.cpu_count() == multiprocessing.cpu_count() >= 1 and os.sysconf('SC_PHYS_PAGES') > 10000\n"
        "with multiprocessing.Pool(2) as pool: assert pool.map(abs, [-1, 2]) == [1, 2]\n"
        "multiprocessing.Lock(); zoneinfo.ZoneInfo('Europe/Berlin'); locale.setlocale(locale.LC_ALL, 'C.UTF-8')\n"
        "subprocess.run('env | sort | grep PATH | sed s/a/b/ | tar --version', shell=True, check=True)\n"
        "assert open('/proc/meminfo').readline().startswith('MemTotal:')\n"
        "assert not glob.glob('/usr/share/doc/*') and not glob.glob('/usr/src/*')\n"
    )
    done = sandbox.run(Command(("{python}", "-I", "-c", program)))
    sandbox.close()
    assert done.ok, done.stderr.decode()


def test_what_is_shown_is_shown_once_and_links_stay_links() -> None:
    interpreter = find_interpreter("3.11")
    assert interpreter is not None
    files = shown(interpreter)
    assert len(set(files)) == len(files)
    arguments = list(binds(files))
    assert all(
        target == place for kind, target, place in zip(*[iter(arguments)] * 3, strict=True) if kind == "--ro-bind"
    )
    assert all(folder.is_dir() for folder in hidden(interpreter))
