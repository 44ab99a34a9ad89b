"""What the first process of a container has to do that others need not."""

import contextlib
import os
import signal
import sys
from typing import Final

_WATCHED: Final = frozenset({signal.SIGINT, signal.SIGTERM, signal.SIGCHLD})


def leave_to_child() -> None:
    """Return in a child process; this one stays behind as its keeper and exits as the child did.

    The kernel takes no default action for a signal to process 1, so a second cancel could not end it, and orphans
    are its to reap. The keeper passes SIGINT and SIGTERM on and waits; it exits with 128 + n where signal n
    killed the child. Signals are blocked from before there is a child and waited for: one that a handler had to see
    would be lost if it came just before a system call that waits.
    """
    before = signal.pthread_sigmask(signal.SIG_BLOCK, _WATCHED)
    child = os.fork()
    if child == 0:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
        return
    while True:
        number = signal.sigwait(_WATCHED)
        if number != signal.SIGCHLD:
            with contextlib.suppress(ProcessLookupError):
                os.kill(child, number)
            continue
        while (ended := os.waitpid(-1, os.WNOHANG))[0]:
            if ended[0] == child:
                code = os.waitstatus_to_exitcode(ended[1])
                sys.exit(code if code >= 0 else 128 - code)
