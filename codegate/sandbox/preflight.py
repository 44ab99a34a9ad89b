"""Does the sandbox hold? Asked once per run, from inside, through the same code path as everything else.

A backend can be misconfigured in ways that no unit test of ours can see: a daemon with its own defaults, a
kernel without a filter, a proxy that adds a network. So a small program looks at the walls, and a run does not
start unless every one stands.
"""

import json
from dataclasses import dataclass
from typing import Final

from codegate.sandbox.contract import Backend, Command, PreparedEnvironment, SandboxError, SandboxLimits
from codegate.sandbox.session import ENVIRONMENT, LIBRARIES

_LIMITS: Final = SandboxLimits(lifetime_seconds=60, memory_bytes=256 << 20, disk_bytes=16 << 20)

_PROBE: Final = r"""
import errno, json, os, socket, sys
status = dict(line.split(":", 1) for line in open("/proc/self/status") if ":" in line)
def refused(action):
    try:
        action()
    except OSError as error:
        return errno.errorcode.get(error.errno, str(error))
    return ""
def connect(family, address):
    with socket.socket(family, socket.SOCK_STREAM) as one:
        one.settimeout(0.2)
        one.connect(address)
def touch(path):
    os.close(os.open(path, os.O_CREAT | os.O_WRONLY, 0o600))
routes = open("/proc/net/route").read().splitlines()[1:]
sockets = [path for path in ("/var/run/docker.sock", "/run/docker.sock", "/run/containerd/containerd.sock",
           "/run/podman/podman.sock") if os.path.exists(path)]
print(json.dumps({
    "uid": os.getuid(),
    "capabilities": [status[name].strip() for name in ("CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb")],
    "no_new_privileges": status["NoNewPrivs"].strip(),
    "seccomp": status["Seccomp"].strip(),
    "routes": [line for line in routes if line.split()[0] != "lo"],
    "interfaces": sorted(name for _, name in socket.if_nameindex() if name != "lo"),
    "connect": [refused(lambda: connect(socket.AF_INET, ("169.254.169.254", 80))),
                refused(lambda: connect(socket.AF_INET, ("8.8.8.8", 53)))],
    "families": [refused(lambda: socket.socket(family).close()) for family in (17, 38, 40)],
    "system": {path: refused(lambda: touch(path)) for path in ("/codegate", "/etc/codegate", "/usr/codegate")},
    "kernel": refused(lambda: os.close(os.open("/proc/sys/kernel/core_pattern", os.O_WRONLY))),
    "supervisor": refused(lambda: os.close(os.open("/proc/1/environ", os.O_RDONLY))),
    "sockets": sockets,
    "variables": sorted(os.environ),
    "disk": os.statvfs("/workspace").f_blocks * os.statvfs("/workspace").f_frsize,
    "files": len(os.listdir("/proc/self/fd")),
}))
"""


@dataclass(frozen=True)
class Finding:
    """One wall that was looked at.

    Attributes:
        check: its name.
        held: whether it stands.
        evidence: what was seen.
    """

    check: str
    held: bool
    evidence: str


def preflight(backend: Backend, environment: PreparedEnvironment) -> tuple[Finding, ...]:
    """Look at a sandbox's walls from inside and return what was found, all of it held.

    Raises:
        SandboxError: a wall does not stand, or the probe could not look.
    """
    sandbox = backend.open(environment, _LIMITS)
    try:
        done = sandbox.run(Command(("{python}", "-I", "-S", "-B", "-c", _PROBE), timeout_seconds=20))
    finally:
        sandbox.close()
    if not done.ok:
        raise SandboxError(f"the sandbox's preflight could not run: {done.stderr[-500:]!r}.")
    findings = judge(done.stdout)
    broken = [f"{finding.check} ({finding.evidence})" for finding in findings if not finding.held]
    if broken:
        raise SandboxError(
            f"the {backend.name} sandbox does not hold here: {', '.join(broken)}.",
            "Nothing is run in it. Check the daemon's configuration, or choose the other backend with --sandbox.",
        )
    return findings


def judge(output: bytes) -> tuple[Finding, ...]:
    """Return the findings that the probe's output stands for."""
    seen = json.loads(output)
    allowed = {"PATH", *ENVIRONMENT, *LIBRARIES, "PWD", "LC_CTYPE"}
    verdicts = {
        "not root": (seen["uid"] != 0, seen["uid"]),
        "no capabilities": (all(int(mask, 16) == 0 for mask in seen["capabilities"]), seen["capabilities"]),
        "no new privileges": (seen["no_new_privileges"] == "1", seen["no_new_privileges"]),
        "system call filter": (
            seen["seccomp"] == "2" and all(seen["families"]),
            [seen["seccomp"], seen["families"]],
        ),
        "no network route": (seen["routes"] == [] and seen["interfaces"] == [], seen["interfaces"]),
        "no connection": (all(seen["connect"]), seen["connect"]),
        "read-only system": (all(seen["system"].values()), seen["system"]),
        "kernel settings closed": (seen["kernel"] != "", seen["kernel"]),
        "supervisor closed": (seen["supervisor"] != "", seen["supervisor"]),
        "no container socket": (seen["sockets"] == [], seen["sockets"]),
        "no inherited variables": (set(seen["variables"]) <= allowed, sorted(set(seen["variables"]) - allowed)),
        "disk limit": (seen["disk"] <= _LIMITS.disk_bytes, seen["disk"]),
        "no inherited descriptors": (seen["files"] <= 4, seen["files"]),
    }
    return tuple(Finding(name, held, json.dumps(what)) for name, (held, what) in verdicts.items())
