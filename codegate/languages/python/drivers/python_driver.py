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


def chain(error: Any) -> list[Any]:
    """Return an exception and its causes or contexts, nearest first."""
    found: list[Any] = []
    while error is not None and len(found) < LONGEST_CHAIN and not any(error is known for known in found):
        found.append(error)
        error = error.__cause__ or error.__context__
    return found


def number_of(error: Any) -> int | None:
    """Return an OSError's errno, else None."""
    try:
        number = error.errno if isinstance(error, OSError) else None
    except Exception:
        number = None
    return number if type(number) is int and abs(number) < 1 << 31 else None


def absent_module(error: Any, roots: list[str]) -> str | None:
    """Return the top-level module that an ImportError misses, or None.

    A module below ``roots``, the repository's import roots, does not count.
    """
    # It is the top-level module. None: the error has no name, or the repository has that module.
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


def explain(error: Any, roots: list[str], message: Any = None) -> dict[str, Any]:
    """Return an exception's ``Crash`` fields: class, message, causes.

    ``roots`` are the repository's import roots. ``message`` replaces the exception's own text.
    """
    errors = chain(error)
    numbers = [number for number in map(number_of, errors) if number is not None]
    return {
        "exception": qualified(type(error)),
        "message": plain(error if message is None else message, 4000),
        "parents": [kind.__name__ for kind in type(error).__mro__ if kind.__module__ == "builtins"],
        "causes": [qualified(type(cause)) for cause in errors],
        "errno": numbers[0] if numbers else None,
        "dependency": absent_module(error, roots),
        "place": raised_in(error),
    }


def take_marks(settings: dict[str, Any]) -> tuple[Any, Any]:
    """Define the function that marks call.

    Return two functions: the first returns the tokens since its last call, the second whether a test is an altered copy
    or has one. This process cannot tell which, because the code under test may read what it knows.
    """
    if "copies" not in settings:
        return list, lambda _name: False
    seen: set[str] = set()
    words = tuple("_%s" % word for word in settings["copies"]["variants"])
    setattr(builtins, settings["copies"]["mark"], seen.add)

    def take() -> list[str]:
        tokens = sorted(seen)
        seen.clear()
        return tokens

    return take, lambda name: any(word in name for word in words)


def begin_run() -> tuple[dict[str, Any], Channel, str, str, list[str]]:
    """Read the settings, open the channel, enter the environment.

    Return settings, channel, workspace, and the two results of ``enter_environment``.
    """
    # The last two are as in ``enter_environment``; the current folder is that of the tests.
    settings = json.load(sys.stdin)
    channel = Channel(int(sys.argv[1]), settings["token"])
    workspace = sys.argv[2]
    sys.argv[1:] = []
    os.chdir(os.path.join(workspace, settings["folder"]))
    return (settings, channel, workspace, *enter_environment(settings))


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


def start_watch(settings: dict[str, Any], channel: Channel, workspace: str, packages: str) -> Callable[[], None]:
    """Record unusual actions of the tested code from now on.

    Returns a function that ends the recording. ``packages`` is the folder of the environment's packages.
    """
    room: dict[str, Any] = {}
    exec(compile(settings["behaviour"], "<behaviour>", "exec"), room)
    finish: Callable[[], None] = room["begin"](channel.send, workspace, packages)
    return finish


def end(channel: Channel, finish_watch: Callable[[], None], status: int, leave: Callable[[int], Any]) -> None:
    """Report the end of the run; exit with ``status``.

    ``finish_watch`` is what ``start_watch`` returned, ``leave`` the original ``os._exit``.
    """
    with contextlib.suppress(Exception):  # closed by a test: what it printed is lost, not what was reported
        sys.stdout.flush()
        sys.stderr.flush()
    finish_watch()
    channel.send(kind="end", status=status)
    # What the repository registered to run at exit, or left running in threads, has no say any more.
    leave(status)
