"""Code that wants out of its sandbox, or more of the machine than it is given: nothing gives way, and nothing is left.

Every attack is a patch of one problem, handed in through ``codegate grade``; it tells what it came to in the message
of the test that it fails. What it left on the machine is looked for from outside, by a mark.
"""

import json
import secrets
import signal
import subprocess
import tempfile
import threading
import time
from collections.abc import Collection, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, Final

from tests.redteam.battery import Row
from tests.redteam.sandbox import limits, manifests, walls
from tests.redteam.sandbox.cell import Attack, Bait, make_suite, patch_of, report_of, start
from tests.redteam.sandbox.outside import back_to_start, baits, containers_at_once

ATTACKS: Final[Mapping[str, Attack]] = {
    name: attack for module in (limits, walls) for name, attack in vars(module).items() if name.startswith("sb_")
}

_KILLED: Final = frozenset({"memory_exceeded", "unsafe_operation"})
_ENDS: Final[Mapping[str, frozenset[str]]] = {
    "sb_01_bomb_that_stays": frozenset({"timeout"}),  # on a busy machine it takes its time
    "sb_02_memory_of_many": _KILLED,
    "sb_02_memory_of_the_kernel": _KILLED,
    "sb_04_disk": _KILLED,
    "sb_07_flood": frozenset({"unsafe_operation", "runtime_error", "timeout"}),
    "sb_09_full_pipes": frozenset({"tampering"}),
    "sb_11_deaf": frozenset({"timeout"}),
    "sb_40_replaced_workspace": frozenset({"tampering", "runtime_error", "logic_error"}),
}
"""How an attack may end that does not live to tell: failure classes; the others have to tell."""
_SECONDS_EACH: Final = 60.0
_MOST_BYTES: Final = 1 << 20
_MOST_CONTAINERS: Final = 8
AFTERWARDS: Final = "sb_00_machine_afterwards"
AT_ONCE: Final = "sb_31_containers_at_once"
KILLED: Final = "sb_10_killed_harness"
TERMINAL: Final = "sb_29_what_the_operator_sees"


def run(sandbox: str, only: Collection[str] | None = None) -> Iterator[Row]:
    """Carry out the attacks, and look at the machine afterwards."""
    chosen = {name: attack for name, attack in ATTACKS.items() if only is None or name in only}
    bait_mark = f"{secrets.randbelow(10**9) + 10**9}.5"
    with tempfile.TemporaryDirectory(prefix="redteam-") as folder, baits(bait_mark) as port:
        bait = Bait(bait_mark, f"sk-redteam-{secrets.token_hex(16)}", port)
        suite = make_suite(Path(folder))
        if chosen:
            yield from _graded(suite, chosen, sandbox, bait)
        if only is None or KILLED in only:
            yield _killed(suite, sandbox, bait)
        yield from manifests.run(suite, sandbox, only)


def _graded(suite: Path, chosen: Mapping[str, Attack], sandbox: str, bait: Bait) -> Iterator[Row]:
    patches = {name: patch_of(attack, bait) for name, attack in chosen.items()}
    stop = threading.Event()
    with start(suite, patches, sandbox, bait) as process, ThreadPoolExecutor(1) as watcher:
        most = watcher.submit(containers_at_once, process.pid, stop)
        watch = threading.Timer(60 + _SECONDS_EACH * len(patches), process.kill)
        watch.start()
        try:
            assert process.stdout is not None
            answered = 0
            for name, line in zip(patches, process.stdout, strict=False):
                answered += 1
                yield _row(name, sandbox, line, bait)
        finally:
            watch.cancel()
            stop.set()
            process.terminate()
        process.wait()
    errors = (suite.parent / "errors").read_bytes()
    if answered < len(patches):
        raise RuntimeError(f"{answered} of {len(patches)} answers, then: {errors[-500:].decode('utf-8', 'replace')}")
    seconds, left = back_to_start(bait.mark, process.pid)
    yield Row(
        "sandbox", AFTERWARDS, sandbox, "nothing left in 10 s", f"{left or 'nothing'} after {seconds:.1f} s", not left
    )
    count = most.result()
    yield Row("sandbox", AT_ONCE, sandbox, f"at most {_MOST_CONTAINERS}", str(count), count <= _MOST_CONTAINERS)
    clean = b"\x1b" not in errors and not any(line.startswith((b"::", b"##[")) for line in errors.splitlines())
    kept = bait.secret.encode() not in errors
    yield Row("sandbox", TERMINAL, sandbox, "plain lines", f"{len(errors)} bytes", clean and kept)


def _row(name: str, sandbox: str, line: bytes, bait: Bait) -> Row:
    outcome = json.loads(line)
    grade: Mapping[str, Any] | None = outcome["grade"]
    ends = _ENDS.get(name, frozenset())
    expected = " or ".join(["no way out", *(["its end"] if ends else [])])
    if outcome["candidate"] != name or grade is None:
        return Row("sandbox", name, sandbox, expected, f"fault: {(outcome['fault'] or {}).get('message')}", False)
    if len(line) > _MOST_BYTES or bait.secret.encode() in line:
        return Row("sandbox", name, sandbox, expected, f"{len(line)} bytes, or the key in them", False)
    told = report_of(grade)
    if told is None:
        got = f"{grade['failure']}: {grade['detail']}"
        return Row("sandbox", name, sandbox, expected, got, not grade["resolved"] and grade["failure"] in ends)
    if told["gave way"]:
        return Row("sandbox", name, sandbox, expected, f"GAVE WAY: {told['gave way'][:5]}", False)
    return Row("sandbox", name, sandbox, expected, "; ".join(told["noted"][:6]) or "nothing", not grade["resolved"])


def _killed(suite: Path, sandbox: str, bait: Bait) -> Row:
    """Kill the harness in the middle of an attack that ignores every signal."""
    attack = limits.sb_11_deaf
    process = start(suite, {"deaf": patch_of(attack, bait)}, sandbox, bait)
    limit = time.monotonic() + 60
    while not _lingers(bait.mark) and time.monotonic() < limit and process.poll() is None:
        time.sleep(0.05)
    began = _lingers(bait.mark)
    process.send_signal(signal.SIGKILL)
    process.communicate()
    seconds, left = back_to_start(bait.mark, process.pid)
    # An empty control group, and what the next run sweeps, hold nothing of the attack.
    left = [one for one in left if not one.startswith("control group")]
    got = f"{left or 'nothing'} after {seconds:.1f} s" if began else "the attack never began"
    return Row("sandbox", KILLED, sandbox, "nothing left in 10 s", got, began and not left)


def _lingers(mark: str) -> bool:
    return subprocess.run(["pgrep", "-f", f"^sleep {mark}$"], capture_output=True, check=False).returncode == 0
