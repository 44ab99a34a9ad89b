"""Code that the drivers of pytest and unittest share."""

from __future__ import annotations

import builtins
import contextlib
import json
import os
import site
import sys
import traceback
import warnings
from typing import Any, Callable

from codegate.grading.drivers.channel_driver import Channel, plain

LONGEST_CHAIN = 20
#: A sandbox starts what it runs in the workspace; the drivers change to the tests' folder later.
WORKSPACE = os.getcwd()


def qualified(kind: Any) -> str:
    """Return a class's name, with its module unless builtin."""
    module = getattr(kind, "__module__", "")
    return plain(kind.__name__ if module == "builtins" else "%s.%s" % (module, kind.__qualname__), 300)


def exception_chain(error: Any) -> list[Any]:
    """Return an exception and its causes or contexts, nearest first."""
    found: list[Any] = []
    while error is not None and len(found) < LONGEST_CHAIN and not any(error is known for known in found):
        found.append(error)
        error = error.__cause__ or error.__context__
    return found


def errno_of(error: Any) -> int | None:
    """Return an OSError's errno, else None."""
    try:
        number = error.errno if isinstance(error, OSError) else None
    except Exception:
        number = None
    return number if type(number) is int and abs(number) < 1 << 31 else None


def absent_module(error: Any, roots: list[str]) -> str | None:
    """Return the top-level module that an ImportError misses, or None.

    Also None if ``roots``, the repository's import roots, contain a module of that name.
    """
    try:
        name = error.name if isinstance(error, ImportError) else None
    except Exception:
        name = None
    if not isinstance(name, str) or not name:
        return None
    top = name.partition(".")[0]
    own = any(os.path.exists(os.path.join(root, top + ending)) for root in roots for ending in ("", ".py"))
    return None if own else plain(top, 300)


def raised_in(error: Any) -> list[str] | None:
    """Return workspace file and function that raised ``error``, or None."""
    # They are the innermost ones in the traceback.
    found = None
    with contextlib.suppress(Exception):  # the class is the code's own
        for frame, _ in traceback.walk_tb(error.__traceback__):
            code = frame.f_code
            if code.co_filename.startswith(WORKSPACE + os.sep):
                found = [plain(os.path.relpath(code.co_filename, WORKSPACE), 300), plain(code.co_name, 300)]
    return found


class Run:
    """One run of a test file: settings, channel and environment.

    Attributes:
        packages: the first of the environment's folders of packages.
        roots: the command's import roots, which the driver has to add to ``sys.path``.
        vary: by name, the functions of ``variations_driver``; empty if the settings ask for no change.
        real_exit: the original ``os._exit``.
    """

    def __init__(self) -> None:
        self.real_exit = os._exit
        self.settings: dict[str, Any] = json.load(sys.stdin)
        self.channel = Channel(int(sys.argv[1]), self.settings["token"])
        self.workspace = sys.argv[2]
        sys.argv[1:] = []
        os.chdir(os.path.join(self.workspace, self.settings["folder"]))
        self.packages, self.roots = enter_environment(self.settings)
        self.vary = self.load("variations")
        copies = self.settings.get("copies")
        self.words = tuple("_%s" % word for word in copies["variants"]) if copies else ()
        self.seen: set[str] = set()
        if copies:
            setattr(builtins, copies["mark"], self.seen.add)

    def marks(self) -> list[str]:
        """Return the tokens that marks sent since the last call."""
        tokens = sorted(self.seen)
        self.seen.clear()
        return tokens

    def is_variant(self, name: str) -> bool:
        """Return whether a test is or has an altered copy."""
        # This process cannot tell which, because the code under test may read what it knows.
        return any(word in name for word in self.words)

    def explain(self, error: Any, message: Any = None) -> dict[str, Any]:
        """Return an exception's ``Crash`` fields: class, message, causes.

        ``message`` replaces the exception's own text.
        """
        errors = exception_chain(error)
        numbers = [number for number in map(errno_of, errors) if number is not None]
        return {
            "exception": qualified(type(error)),
            "message": plain(error if message is None else message, 4000),
            "parents": [kind.__name__ for kind in type(error).__mro__ if kind.__module__ == "builtins"],
            "causes": [qualified(type(cause)) for cause in errors],
            "errno": numbers[0] if numbers else None,
            "dependency": absent_module(error, self.roots),
            "place": raised_in(error),
        }

    def fail_to_load(self, place: str, error: Any) -> None:
        """Report a file or class (``path::Class``) that cannot load."""
        crash = self.explain(error)
        self.channel.send(kind="collection_error", id=plain(place, 4096), text=plain(error, 2000), crash=crash)

    def load(self, part: str) -> dict[str, Any]:
        """Execute the program in the settings' ``part``; return its names."""
        room: dict[str, Any] = {}
        exec(compile(self.settings.get(part, ""), "<%s>" % part, "exec"), room)
        return room

    def watch(self) -> None:
        """Record unusual actions of the tested code from now on."""
        begin = self.load("behaviour")["begin"]
        self.finish_watch: Callable[[], None] = begin(self.channel.send, self.workspace, self.packages)

    def end(self, status: int) -> None:
        """Report the end of the run; exit with ``status``."""
        with contextlib.suppress(Exception):  # closed by a test: what it printed is lost, not what was reported
            sys.stdout.flush()
            sys.stderr.flush()
        self.finish_watch()
        self.channel.send(kind="end", status=status)
        # What the repository registered to run at exit, or left running in threads, has no say any more.
        self.real_exit(status)


def enter_environment(settings: dict[str, Any]) -> tuple[str, list[str]]:
    """Add the environment's folders to ``sys.path``.

    Return the first of them, and the command's import roots, which the caller has to add. Call it after the settings
    are read and the channel is open: until then only the standard library may be importable.
    """
    standard = len(sys.path)
    customize, site.execsitecustomize = site.execsitecustomize, lambda: None
    site.main()
    # A folder of the tree can be an import root now, and a file of that name there would run before all that watches.
    behind = sys.path[standard + 1 :]
    del sys.path[standard + 1 :]
    customize()
    sys.path += behind
    if len(sys.path) == standard:
        raise SystemExit("the interpreter %s has no packages" % sys.executable)
    given = [*os.environ.get("PYTHONWARNINGS", "").split(","), *settings["warnings"]]
    sys.warnoptions += [words for words in given if words]
    warnings._processoptions(sys.warnoptions)  # type: ignore[attr-defined]  # what -I left out, and what -S could not
    given = [path for path in os.environ.get("PYTHONPATH", "").split(os.pathsep) if path]
    paths = [os.path.abspath(path) for path in [*settings["roots"], *given]]
    return sys.path[standard], [os.getcwd(), *paths] if settings["module"] else paths
