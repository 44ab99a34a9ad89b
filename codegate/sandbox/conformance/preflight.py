"""Verify a sandbox from inside before it runs untrusted code.

This is done once per run and kind of environment. A backend can be misconfigured in ways that no unit test can see: a
daemon with its own defaults, a kernel without a filter, a proxy that adds a network, a runtime that ignores a limit. So
a small program inspects the isolation and uses up every limit. The run goes on only if isolation and limits hold.
"""

import json
from collections.abc import Collection, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any, Final

from pydantic import Field

from codegate.sandbox.contract import (
    Backend,
    Command,
    Completed,
    Description,
    PreparedEnvironment,
    Sandbox,
    SandboxError,
    SandboxLimits,
)
from codegate.sandbox.layers import BUILT
from codegate.sandbox.session import ENVIRONMENT, inodes, shared_memory_bytes, variables_of
from codegate.strict import Strict
from codegate.wording import documentation

_PROBE: Final = Path(__file__).with_name("probe.py").read_text(encoding="utf-8")
LIMITS: Final = SandboxLimits(lifetime_seconds=60, memory_bytes=96 << 20, pids=24, disk_bytes=4 << 20, open_files=64)
_SHARED: Final = "/dev/shm"  # noqa: S108 - the sandbox's own
_SHARED_BYTES: Final = shared_memory_bytes(LIMITS)
# "/" is mounted writable if BUILT is a folder of the root's file system; permissions then protect its other folders.
_WRITABLE: Final = {
    "/workspace", "/tmp", _SHARED, BUILT, "/", "/dev/mqueue", "/dev/pts", "/dev/console", "/dev/tty",  # noqa: S108
}  # fmt: skip
_SLACK: Final = 1 << 20  # bytes above a limit that the probe takes in a sandbox without that limit
_SECONDS: Final = 20.0
_FLOOD_CAP: Final = 4096
_FLOOD_BLOCKS: Final = 512  # 32 MiB; a capped command is killed before it has written a tenth
_TIME_LIMIT: Final = 0.1
_SHARES: Final = 3  # processes, each of which takes half of the memory limit, so 1.5 times the limit together
_MOST_FILES: Final = 60_000

_FULL: Final = frozenset({"ENOSPC", "EFBIG", "EDQUOT"})
_UNENFORCED: Final = frozenset({
    "process limit", "memory limit", "memory limit in total", "disk limit", "size of shared memory", "file limit",
    "descriptor limit", "file size limit",
})  # fmt: skip


class WallCheck(Strict):
    """The result of testing one isolation property or limit."""

    check: str = Field(max_length=100)
    held: bool
    evidence: str = Field(max_length=2000, description="What was seen, as JSON.")


class Assurance(Strict):
    """The tested isolation of one kind of environment."""

    sandbox: str = Field(max_length=100, description="What to choose to get the same kind again: `docker`, `bwrap`.")
    tier: str = Field(max_length=100, description="What contains the code: `runc`, `runsc`, `kata`, `bubblewrap`.")
    engine: str = Field(max_length=200, description="What manages the sandboxes, with its version.")
    runtime: str = Field(max_length=200, description="What makes their walls, with its version.")
    kernel: str = Field(max_length=200, description="Release of the kernel that the code talks to.")
    environment: str = Field(max_length=200, description="Identity of the environment that was looked at.")
    checks: tuple[WallCheck, ...] = Field(max_length=100)
    weaknesses: tuple[str, ...] = Field(max_length=20, description="What this sandbox does not promise, a clause each.")

    @property
    def words(self) -> str:
        """Return a text such as ``verified (docker, runc 1.1.5)``."""
        return f"verified ({self.sandbox}, {self.runtime})"

    @property
    def place(self) -> tuple[str, str, str, str]:
        """Return backend, engine, runtime and environment, as a key.

        Of two assurances with equal keys the later one counts.
        """
        return (self.sandbox, self.engine, self.runtime, self.environment)


def preflight(backend: Backend, environment: PreparedEnvironment) -> Assurance:
    """Check a sandbox's isolation and limits; return the results.

    Raises:
        SandboxError: the isolation has a gap, a limit is not enforced, or the probe could not run.
    """
    with closing(backend.open(environment, LIMITS)) as sandbox:
        description = backend.describe()  # parts of the description are known only after a sandbox was opened
        seen = read_walls(sandbox)
        walls = _held(backend.name, wall_findings(seen, description, variables_of(environment)))
        limits = _held(backend.name, tuple(_limits(sandbox, description)))
    with closing(backend.open(environment, LIMITS)) as sandbox:
        limits += _held(backend.name, (_disk_limit(sandbox),))
    return Assurance(
        sandbox=description.name,
        tier=description.tier,
        engine=description.engine,
        runtime=description.runtime,
        kernel=str(seen["release"])[:200],
        environment=environment.identity[:200],
        checks=(*walls, *limits),
        weaknesses=description.weaknesses,
    )


def read_walls(sandbox: Sandbox) -> dict[str, Any]:
    """Run ``probe.walls`` in the sandbox; return its facts.

    Raises:
        SandboxError: the probe failed.
    """
    seen: dict[str, Any] = _answer(_ask(sandbox, "walls"))
    return seen


def wall_findings(seen: dict[str, Any], description: Description, own: Collection[str] = ()) -> tuple[WallCheck, ...]:
    """Return one result for each isolation property.

    Args:
        seen: the facts that ``probe.walls`` printed.
        description: the backend's.
        own: names of the variables that the build and its toolchains set.
    """
    allowed = {"PATH", *ENVIRONMENT, "PWD", "LC_CTYPE"}
    strange = sorted(set(seen["variables"]) - allowed - set(own))
    elsewhere = sorted(set(seen["writable"]) - _WRITABLE)
    got_through = [name for name, error in {**seen["calls"], **seen["families"]}.items() if not error]
    verdicts: dict[str, tuple[bool, object]] = {
        "not root": (0 not in seen["uid"], seen["uid"]),
        "no capabilities": (_no_capabilities(seen["capabilities"]), seen["capabilities"]),
        "no new privileges": (seen["no_new_privileges"] == 1, seen["no_new_privileges"]),
        "system call filter": (seen["seccomp"] == 2 and not got_through, [seen["seccomp"], *got_through]),
        "no network route": (seen["routes"] == [] and seen["interfaces"] == [], seen["interfaces"]),
        "no connection": (all(seen["connect"]), seen["connect"]),
        "read-only system": (all(seen["system"].values()), seen["system"]),
        "nothing else writable": (elsewhere == [], elsewhere),
        "kernel settings closed": (seen["kernel"] != "", seen["kernel"]),
        "supervisor closed": (seen["supervisor"] != "", seen["supervisor"]),
        "no container socket": (seen["sockets"] == [], seen["sockets"]),
        "no inherited variables": (strange == [], strange),
        "no inherited descriptors": (seen["files"] <= 4, seen["files"]),
        "no core files": (seen["cores"] == 0, seen["cores"]),
        "no name of the machine": (seen["host"] == "sandbox", seen["host"]),
    }
    if description.own_kernel:
        verdicts["own kernel"] = (seen["release"] != description.kernel, seen["release"])
    return tuple(_finding(name, held, what) for name, (held, what) in verdicts.items())


def limit_findings(seen: dict[str, Any], description: Description) -> tuple[WallCheck, ...]:
    """Return one result for each limit that ``probe.limits`` tested."""
    opened, why = seen["descriptors"]
    verdicts: dict[str, tuple[bool, object]] = {
        "descriptor limit": (opened < LIMITS.open_files and why == "EMFILE", seen["descriptors"]),
        "size of shared memory": (
            all(took <= _SHARED_BYTES and end in _FULL for took, end in seen["disk"].values()),
            seen["disk"],
        ),
        "file size limit": (seen["file"] in _FULL, seen["file"]),
    }
    if description.process_limit:
        made, reason = seen["processes"]
        verdicts["process limit"] = (made <= LIMITS.pids and reason == "EAGAIN", seen["processes"])
    if description.inode_limit:
        held = all(count <= inodes(_SHARED_BYTES) and end in _FULL for count, end in seen["inodes"].values())
        verdicts["file limit"] = (held, seen["inodes"])
    return tuple(_finding(name, held, what) for name, (held, what) in verdicts.items())


def _limits(sandbox: Sandbox, description: Description) -> Iterator[WallCheck]:
    """Test every limit except the disk's; yield the results.

    Limits that may end the sandbox come last.
    """
    wanted = {
        "processes": LIMITS.pids * 2 if description.process_limit else 0,
        "descriptors": LIMITS.open_files * 2,
        "disk": {_SHARED: _SHARED_BYTES + _SLACK},
        "inodes": {_SHARED: inodes(_SHARED_BYTES) + 100} if description.inode_limit else {},
        "file": LIMITS.disk_bytes + 1,
    }
    yield from limit_findings(_answer(_ask(sandbox, "limits", wanted)), description)
    flood = _ask(sandbox, "flood", {"blocks": _FLOOD_BLOCKS}, output_bytes=_FLOOD_CAP)
    yield _finding(
        "output limit",
        flood.truncated and len(flood.stdout) == _FLOOD_CAP and flood.signal == 9,
        [flood.truncated, len(flood.stdout), flood.signal],
    )
    late = _ask(sandbox, "sleep", {"seconds": _SECONDS}, seconds=_TIME_LIMIT)
    yield _finding("time limit", late.timed_out and late.wall_seconds < 5, [late.timed_out, round(late.wall_seconds)])
    if not description.totals:
        done = _ask(sandbox, "memory", {"processes": 1, "bytes": LIMITS.memory_bytes * 2})
        held, _ = _answer(done)
        yield _finding("memory limit", held == 0, held)
        return
    if not description.inode_limit and description.process_limit:
        wanted = {"folder": _SHARED, "most": _MOST_FILES, "ballast": LIMITS.memory_bytes * 2 // 3}
        done = _ask(sandbox, "files", wanted)
        yield _finding("file limit", done.memory_exceeded or _answer(done)[1] != "", done.memory_exceeded)
    done = _ask(sandbox, "memory", {"processes": _SHARES, "bytes": LIMITS.memory_bytes // 2})
    yield _finding("memory limit in total", done.memory_exceeded, done.stdout.decode("utf-8", "replace").strip())


def _disk_limit(sandbox: Sandbox) -> WallCheck:
    done = _ask(sandbox, "spill", {"folder": BUILT, "most": LIMITS.disk_bytes + _SLACK, "seconds": _SECONDS / 2})
    if not done.ok:
        return _finding("disk limit", b"written to disk" in done.stderr, "ended")
    took, end = json.loads(done.stdout)
    return _finding("disk limit", took <= LIMITS.disk_bytes and end in _FULL, [took, end])


def _held(name: str, findings: tuple[WallCheck, ...]) -> tuple[WallCheck, ...]:
    broken = [finding for finding in findings if not finding.held]
    if broken:
        raise SandboxError(
            f"the {name} sandbox does not hold here: "
            f"{', '.join(f'{finding.check} ({finding.evidence[:300]})' for finding in broken)}.",
            _remedy(name, {finding.check for finding in broken}),
        )
    return findings


def _ask(
    sandbox: Sandbox, wish: str, wanted: object = None, *, seconds: float = _SECONDS, output_bytes: int = 1 << 16
) -> Completed:
    argv = ("{python}", "-I", "-S", "-B", "-c", _PROBE, wish, json.dumps(wanted))
    return sandbox.run(Command(argv, timeout_seconds=seconds, output_bytes=output_bytes))


def _answer(done: Completed) -> Any:
    if not done.ok:
        raise SandboxError(f"the sandbox's preflight could not run: {done.stderr[-500:]!r}.")
    return json.loads(done.stdout)


def _no_capabilities(masks: list[str]) -> bool:
    return len(masks) >= 4 and all(int(mask, 16) == 0 for mask in masks)


def _finding(check: str, held: bool, what: object) -> WallCheck:
    return WallCheck(check=check, held=held, evidence=json.dumps(what)[:2000])


def _remedy(name: str, broken: set[str]) -> str:
    if name.startswith("docker") and broken & _UNENFORCED:
        return (
            "Nothing is run in it: the daemon took the limit and does not enforce it. A rootless daemon needs control "
            "groups (version 2) delegated to its user; a runtime that forgets limits is changed with "
            f"--sandbox docker:RUNTIME: {documentation('sandboxes.md')}."
        )
    return "Nothing is run in it. Check the daemon's configuration, or choose the other backend with --sandbox."
