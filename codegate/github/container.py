"""What the first process of a container has to do that others need not."""

import contextlib
import os
import signal
import sys
from types import FrameType


def leave_to_child() -> None:
    """Return in a child process; this one stays behind as its keeper and exits as the child did.

    The kernel takes no default action for a signal to process 1, so a second cancel could not end it, and orphans
    are its to reap. The keeper passes SIGINT and SIGTERM on and waits; it exits with 128 + n where signal n
    killed the child.
    """
    child = os.fork()
    if child == 0:
        return

    def pass_on(number: int, frame: FrameType | None) -> None:  # noqa: ARG001
        with contextlib.suppress(ProcessLookupError):
            os.kill(child, number)

    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, pass_on)
    while True:
        gone, status = os.wait()
        if gone == child:
            code = os.waitstatus_to_exitcode(status)
            sys.exit(code if code >= 0 else 128 - code)
