"""What every attack begins with: this text is the head of the module that a hostile patch puts in place.

Attacks are functions of ``limits`` and ``walls`` whose source follows it; they may use whatever is imported here.
"""

import array
import ctypes
import errno
import fcntl
import glob
import json
import mmap
import os
import resource
import select
import shutil
import signal
import socket
import stat
import subprocess
import sys
import tempfile
import termios
import threading
import time
from collections.abc import Callable
from typing import Any

MARK = "@MARK@"
SECRET = "@SECRET@"[::-1]
PORT = int("@PORT@".strip("@PORT") or "0")
PIDS, MEMORY, DISK, FILES = 64, 256 << 20, 32 << 20, 512
HERE = (
    array, ctypes, errno, fcntl, glob, json, mmap, os, resource, select, shutil, signal, socket, stat, subprocess, sys,
    tempfile, termios, threading, time,
)  # fmt: skip


class Seen:
    """What an attack came to: walls that gave way, and notes about those that did not."""

    def __init__(self) -> None:
        self.gave_way: list[str] = []
        self.noted: list[str] = []

    def must_fail(self, name: str, action: Callable[[], Any]) -> None:
        """Try what must not work."""
        try:
            result = action()
        except OSError as error:
            self.noted.append(f"{name} {errno.errorcode.get(error.errno or 0, type(error).__name__)}")
        except (ValueError, OverflowError, MemoryError, RuntimeError) as error:
            self.noted.append(f"{name} {type(error).__name__}")
        else:
            self.gave_way.append(f"{name}: {str(result)[:80]}")

    def must_hold(self, name: str, held: bool, what: object) -> None:
        """Tell what a wall turned out to be like."""
        (self.noted if held else self.gave_way).append(f"{name} {str(what)[:80]}")

    def call(self, name: str, x86_64: int, aarch64: int, *arguments: int) -> None:
        """Make a system call that must not work."""
        libc = ctypes.CDLL(None, use_errno=True)
        ctypes.set_errno(0)
        number = aarch64 if os.uname().machine == "aarch64" else x86_64
        result = libc.syscall(number, *(arguments or (0, 0, 0, 0, 0)))
        code = errno.errorcode.get(ctypes.get_errno(), "?")
        self.must_hold(name, result == -1 and code in {"EPERM", "ENOSYS"}, code if result == -1 else result)

    @property
    def text(self) -> str:
        """Return it as one line of JSON behind a word to find it by."""
        return "SEEN" + json.dumps(
            {"gave way": [one[:100] for one in self.gave_way[:4]], "noted": [one[:60] for one in self.noted[:6]]}
        )


def linger() -> int:
    """Leave a process that hides from whoever started it, and that is known by its mark."""
    child = os.fork()
    if child == 0:
        try:
            os.setsid()
            if os.fork() == 0:
                for number in (signal.SIGTERM, signal.SIGHUP, signal.SIGINT):
                    signal.signal(number, signal.SIG_IGN)
                for descriptor in range(3):
                    os.close(descriptor)
                os.execvp("sleep", ["sleep", MARK])
        finally:
            os._exit(0)
    os.waitpid(child, 0)
    return child
