"""Classify error output by its last recognised line.

People use the class to sort many attempts. The failure class comes from the results of tests, never from this.
"""

import re
from typing import Final, Literal

StderrClass = Literal[
    "none", "assertion", "import", "syntax", "memory", "permission", "network", "timeout", "exception", "other"
]
"""``none``: nothing was printed, or the attempt passed. ``other``: no printed line is recognised."""

_LAST: Final = 200  # most lines that are searched, from the end
_LONGEST: Final = 2000  # most characters of a line that are searched
_SIGNS: Final[dict[StderrClass, str]] = {
    "memory": r"MemoryError|OutOfMemoryError|heap out of memory|[Oo]ut of memory|Cannot allocate memory",
    "permission": r"PermissionError|\b(?:EACCES|EPERM|EROFS)\b|[Pp]ermission denied|Operation not permitted"
    r"|AccessDeniedException|[Rr]ead-only file system",
    "network": r"gaierror|\b(?:ENETUNREACH|EAI_AGAIN|ENOTFOUND|ECONNREFUSED)\b|[Nn]etwork is unreachable|no such host"
    r"|name resolution|UnknownHostException|ConnectionRefusedError|[Cc]onnection refused",
    "timeout": r"TimeoutError|TimeoutException|\bETIMEDOUT\b|timed out|deadline exceeded",
    "import": r"ModuleNotFoundError|ImportError|Cannot find (?:module|package)|ERR_MODULE_NOT_FOUND"
    r"|ClassNotFoundException|error: package \S+ does not exist|is not in (?:std|GOROOT)|no required module provides",
    "syntax": r"SyntaxError|IndentationError|TabError|syntax error|\[(?:build|setup) failed\]|error: .*expected"
    r"|cannot find symbol|reached end of file while parsing",
    "assertion": r"AssertionError|AssertionFailedError|ComparisonFailure|ERR_ASSERTION|^E +assert\b|^ *--- FAIL: ",
    "exception": r"\b\w*(?:Error|Exception)\b|^panic: |^fatal error: |^Traceback ",
}


def stderr_class(output: str, *, timed_out: bool = False, memory_exceeded: bool = False) -> StderrClass:
    """Return the class of a failing run's output.

    A limit that the run reached is the class, whatever the text.
    """
    if memory_exceeded:
        return "memory"
    if timed_out:
        return "timeout"
    lines = output.splitlines()[-_LAST:]
    for line in reversed(lines):
        for name, sign in _SIGNS.items():
            if re.search(sign, line[:_LONGEST]):
                return name
    return "other" if any(line.strip() for line in lines) else "none"
