"""Change the clock and the load of a test process.

A driver of Python tests executes this text if its settings ask for such a change, and calls its functions before the
repository is imported.
"""

from __future__ import annotations

import contextlib
import ctypes
import datetime
import functools
import gc
import importlib
import os
import time
import warnings
from typing import Any, Callable

DAY = 86_400


class ShiftedFunction:
    """Calls ``replacement`` in place of a builtin function of ``time``.

    An object, because a Python function that is a class attribute becomes a method, and a builtin does not.
    """

    def __init__(self, real: Any, replacement: Callable[..., Any]) -> None:
        functools.update_wrapper(self, real)
        self.replacement = replacement

    def __call__(self, *args: Any, **options: Any) -> Any:
        return self.replacement(*args, **options)


def move_clock(days: int) -> None:
    """Set ``time`` and ``datetime`` ``days`` days ahead.

    Timers, file times and the kernel's clock stay as they are. The classes of ``datetime`` are immutable, and must stay
    the same objects for C extensions, pickles and ``type(x) is datetime``. So their namespaces are changed in place,
    and the interpreter's attribute cache is invalidated. If the environment has ``time_machine``, that package sets the
    clock, because it relies on the builtin functions.
    """
    with contextlib.suppress(ImportError):
        importlib.import_module("time_machine").travel(datetime.timedelta(days=days), tick=True).start()
        return
    ahead = days * DAY
    real = {name: getattr(time, name) for name in dir(time) if callable(getattr(time, name))}

    def now() -> float:
        return float(real["time"]()) + ahead

    def of_moment(name: str) -> Callable[..., Any]:
        return lambda seconds=None: real[name](now() if seconds is None else seconds)

    def of_clock(name: str, unit: int) -> Callable[..., Any]:
        return lambda clock: real[name](clock) + (ahead * unit if clock == time.CLOCK_REALTIME else 0)

    def strftime(form: str, *moment: Any) -> str:
        return str(real["strftime"](form, *(moment or (real["localtime"](now()),))))

    def asctime(*moment: Any) -> str:
        return str(real["asctime"](*(moment or (real["localtime"](now()),))))

    replacements: dict[str, Callable[..., Any]] = {
        "time": now,
        "time_ns": lambda: real["time_ns"]() + ahead * 10**9,
        "gmtime": of_moment("gmtime"),
        "localtime": of_moment("localtime"),
        "ctime": of_moment("ctime"),
        "clock_gettime": of_clock("clock_gettime", 1),
        "clock_gettime_ns": of_clock("clock_gettime_ns", 10**9),
        "strftime": strftime,
        "asctime": asctime,
    }
    for name, replacement in replacements.items():
        setattr(time, name, ShiftedFunction(real[name], replacement))

    # Of a moment, not by adding days to what the real ones say: in between a zone may have changed its offset.
    utc = datetime.timezone.utc
    functions: list[tuple[Any, str, Callable[..., Any]]] = [
        (datetime.datetime, "now", lambda cls, tz=None: cls.fromtimestamp(now(), tz)),
        (datetime.datetime, "utcnow", lambda cls: cls.fromtimestamp(now(), utc).replace(tzinfo=None)),
        (datetime.date, "today", lambda cls: cls.fromtimestamp(now())),
    ]
    for kind, name, function in functions:
        (namespace,) = gc.get_referents(kind.__dict__)
        functools.update_wrapper(function, namespace[name], assigned=("__name__", "__qualname__", "__doc__"))
        namespace[name] = classmethod(function)
        ctypes.pythonapi.PyType_Modified(ctypes.py_object(kind))


def fork() -> int:
    """Fork without warnings about threads."""
    # The child runs one test at most.
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return os.fork()


def start_busy_processes(processes: int) -> None:
    """Start processes that keep this processor busy."""
    # They are not children of this process, because tests may wait for its children.
    with contextlib.suppress(OSError):
        usable = sorted(os.sched_getaffinity(0))
        os.sched_setaffinity(0, {usable[os.urandom(1)[0] % len(usable)]})
    tests = os.getpid()
    for _ in range(processes):
        child = fork()
        if child:
            os.waitpid(child, 0)
        elif fork():
            os._exit(0)
        else:
            os.closerange(0, 1 << 16)
            with contextlib.suppress(OSError):
                while True:
                    os.kill(tests, 0)
                    for _ in range(10_000):
                        pass
            os._exit(0)
