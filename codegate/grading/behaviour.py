"""Record which unusual actions the code under test attempted.

Python's test drivers count actions inside the process, by an audit hook (``behaviour_driver.py``). For all languages,
the sandbox adds its own observations (exceeded limits, and packets without a route) and the failing tests add their
exceptions. This is evidence, not proof: code that shares the process with the hook can hide from it, and forge it. No
grade depends on it.
"""

import errno
import re
from collections.abc import Iterable, Mapping
from typing import Final, Literal, get_args

from pydantic import Field

from codegate.grading.records import Attempted, AttemptKind, Crash
from codegate.sandbox import Completed
from codegate.strict import Strict

LimitName = Literal["time", "memory", "output", "disk", "processes"]
"""A limit that a run reached. ``disk`` and ``processes`` are recognised by the exceptions of failing tests."""

#: Error numbers of an address without a route, as in a sandbox without a network.
UNREACHABLE: Final = frozenset({errno.ENETUNREACH, errno.EHOSTUNREACH, errno.ENETDOWN, errno.EADDRNOTAVAIL})
_DISK: Final = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG})
_NO_LOOK_UP: Final = "socket.gaierror"
_NO_THREAD: Final = "can't start new thread"
#: Forbidden files in the messages of failing tests, for languages without a hook.
_FORBIDDEN: Final = re.compile(
    r"(?<![\w./-])(?:/etc/(?:g?shadow|sudoers)|/proc/\d+/\w+|/(?:root|home)/[\w./-]+|(?:/var)?/run/[\w./-]*\.sock)"
)
_REFUSED: Final = frozenset({errno.EACCES, errno.EPERM, errno.ENOENT})
_MOST_DETAILS: Final = 5
_SHORTEST_PATH: Final = 5
_SHOWN: Final[Mapping[AttemptKind, str]] = {
    "local": "local sockets", "files": "forbidden files", "writes": "writes outside",
}  # fmt: skip


class Behaviour(Strict):
    """The actions that tests attempted, and the limits they reached.

    Attributes:
        watched: a hook counted actions inside every process that ran tests; otherwise only the sandbox's observations
            and the tests' exceptions are known.
        counts: attempts by kind, such as a network connection or a read of a forbidden file; a process that was killed
            may have made more.
        details: the first distinct attempts of each kind, as the process reported them; untrusted text.
        limits: the limits that the run reached.
    """

    watched: bool = False
    counts: dict[AttemptKind, int] = Field(default_factory=dict)
    details: dict[AttemptKind, tuple[str, ...]] = Field(default_factory=dict)
    limits: tuple[LimitName, ...] = ()

    @property
    def notable(self) -> bool:
        """Return whether the run did what honest code rarely does.

        Notable are use of the network or of forbidden files, sent signals, and a reached limit.
        """
        return bool(self.limits) or any(self.counts.get(kind) for kind in ("network", "files", "writes", "signals"))

    @property
    def summary(self) -> str:
        """Return one line, like ``network 3, limit: memory``, or ""."""
        parts = [
            f"{_SHOWN.get(kind, kind)} {self.counts[kind]}" for kind in get_args(AttemptKind) if self.counts.get(kind)
        ]
        return ", ".join([*parts, *(f"limit: {name}" for name in self.limits)])


def observed_behaviour(attempted: Iterable[Attempted], crashes: Iterable[Crash], completed: Completed) -> Behaviour:
    """Return the behaviour of one test process.

    The result combines the records of the process's own hook (``attempted``), the exceptions of failed tests, and the
    limits that the sandbox saw.
    """
    parts = [
        Behaviour(
            watched=True,
            counts={kind: count for kind, count in record.counts.items() if count},
            details={kind: tuple(_plain(text) for text in found) for kind, found in record.details.items()},
        )
        for record in attempted
    ]
    crashes = tuple(crashes)
    cut = completed.truncated or completed.records_truncated
    limits: dict[LimitName, bool] = {
        "time": completed.timed_out,
        "memory": completed.memory_exceeded,
        "output": cut and not completed.memory_exceeded,
        "disk": any(crash.errno in _DISK for crash in crashes),
        "processes": any(map(_lacks_processes, crashes)),
    }
    counts: dict[AttemptKind, int] = {}
    files = () if parts else tuple(filter(None, map(_forbidden, crashes)))
    if files:
        counts["files"] = len(files)
    sent = completed.unreachable or any(map(reaches_out, crashes))
    if sent and not any(part.counts.get("network") for part in parts):
        counts["network"] = int(sent)
    seen = Behaviour(
        watched=bool(parts),
        counts=counts,
        details={"files": files} if files else {},
        limits=tuple(name for name, reached in limits.items() if reached),
    )
    return merge_behaviour([*parts, seen])


def merge_behaviour(parts: Iterable[Behaviour]) -> Behaviour:
    """Return the combined behaviour of several processes."""
    parts = tuple(parts)
    counts: dict[AttemptKind, int] = {}
    details: dict[AttemptKind, tuple[str, ...]] = {}
    for part in parts:
        for kind, count in part.counts.items():
            counts[kind] = counts.get(kind, 0) + count
        for kind, found in part.details.items():
            details[kind] = tuple(dict.fromkeys((*details.get(kind, ()), *found)))[:_MOST_DETAILS]
    return Behaviour(
        watched=bool(parts) and all(part.watched for part in parts),
        counts=counts,
        details=details,
        limits=tuple(name for name in get_args(LimitName) if any(name in part.limits for part in parts)),
    )


def reaches_out(crash: Crash) -> bool:
    """Return whether an exception shows that network access failed."""
    return crash.errno in UNREACHABLE or _NO_LOOK_UP in crash.causes


def was_refused(crash: Crash, behaviour: Behaviour) -> bool:
    """Return whether ``crash`` comes from a refusal by the sandbox.

    Refused are connections without a route, use of a forbidden file that the exception names, and use of processes or
    disk space without bounds. An attempt alone is not enough: honest code and tests start programs and open local
    connections.
    """
    if reaches_out(crash) or crash.errno in _DISK:
        return True
    if behaviour.counts.get("processes") and _lacks_processes(crash):
        return True
    places = (detail.partition(" ")[2] for detail in behaviour.details.get("files", ()))
    return ("OSError" in crash.parents or crash.errno in _REFUSED) and any(
        len(place) >= _SHORTEST_PATH and place in crash.message for place in places
    )


def _lacks_processes(crash: Crash) -> bool:
    forked = crash.errno == errno.EAGAIN and "BlockingIOError" in crash.causes
    return forked or (crash.exception == "RuntimeError" and _NO_THREAD in crash.message)


def _forbidden(crash: Crash) -> str | None:
    """Return ``use PATH`` for an exception's forbidden file, or None."""
    found = _FORBIDDEN.search(crash.message) if crash.errno in _REFUSED or "PermissionError" in crash.parents else None
    return f"use {found.group()[:200]}" if found else None


def _plain(text: str) -> str:
    return "".join(character if character.isprintable() else "\N{REPLACEMENT CHARACTER}" for character in text)[:300]
