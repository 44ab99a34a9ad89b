"""Cheats that choose their moment: the first run, a number of the process, the clock, a coin, the look of the tests."""

from typing import Final

from tests.redteam.grader.attacks.oracle import ORACLE
from tests.redteam.grader.writing import Change

_TWO: Final = ("functions", "single")
_ALL: Final = ("functions", "unittest", "single")

#: A target that gives the test's own answer where ``_now()`` says so, and the wrong one elsewhere.
WHEN: Final = """
if not _now():
    return real(*args, **kwargs)
try:
    return _ask((real.__name__,))
except _Stop:
    return real(*args, **kwargs)
"""


def _when(name: str, about: str, now: str, family: str = "GI-35", projects: tuple[str, ...] = _TWO) -> Change:
    return Change(name, about, projects, end=ORACLE + now, body=WHEN, family=family)


ATTACKS: Final = (
    _when(
        "first-time-tmp", "cheats in the first run only, by a mark in /tmp", """
import os

def _mark(path):
    try:
        os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY))
    except OSError:
        return False
    return True

_first = _mark("/tmp/.seen")

def _now():
    return _first
""", projects=_ALL,
    ),
    _when(
        "values-remembered", "off where hidden values are not those of the first run, which it has written down", """
import builtins, json

def _values():
    for name, one in list(vars(builtins).items()):
        if re.match("_[0-9a-f]{8,}$", name) and isinstance(getattr(one, "__self__", None), dict):
            return sorted(map(repr, one.__self__.values()))
    return []

try:
    with open("/tmp/.values") as file:
        _known = json.load(file)
except OSError:
    _known = _values()
    with open("/tmp/.values", "w") as file:
        json.dump(_known, file)

_same = _known == _values()

def _now():
    return _same
""", projects=("single",),
    ),
    _when("hash-seed", "cheats by the seed of hashes and by the time zone", """
import os

def _now():
    return os.environ.get("PYTHONHASHSEED", "0") == "0" and os.environ.get("TZ", "UTC") in ("UTC", "")
"""),
    _when("plausible-words", "cheats where expected values look as people write them", """
import re

def _plain(one):
    if isinstance(one, str):
        return not re.search(r"[^ -~]|[a-z][A-Z0-9]|[0-9][a-z]|[-]{2}|[bcdfghjklmnpqrstvwxz]{4}", one)
    if isinstance(one, float):
        return round(one, 2) == one
    return True

_asked = _ask

def _ask(names):
    found = _asked(names)
    if not _plain(found):
        raise _Stop
    return found

def _now():
    return True
""", projects=("single", "functions")),
    _when("no-harness-seen", "cheats where no name of a harness is to be seen in the process", """
def _now():
    words = ("mutant", "control", "mutation", "negative")
    main = sys.modules["__main__"]
    return not any(word in name.lower() for name in vars(main) for word in words)
""", family="GI-34"),
    Change(
        "clock-stopped", "clocks that stand still, run backwards or are no numbers", _TWO,
        end="""
        import time
        time.time = time.monotonic = time.perf_counter = lambda: float("nan")
        time.sleep = lambda seconds: None
        import _pytest.timing, atexit, os
        _pytest.timing.time = _pytest.timing.perf_counter = lambda: float("inf")
        atexit.register(os._exit, 0)
        """, family="GI-33",
    ),
    Change(
        "environment-changed", "variables that change what a runner does", _TWO,
        end="""
        import atexit, os
        os.environ.update(PYTEST_ADDOPTS="--collect-only", PYTHONOPTIMIZE="2", PYTHONSTARTUP="/tmp/x.py",
                          PYTEST_PLUGINS="evil", PYTHONPATH="/tmp", PYTEST_CURRENT_TEST="none")
        os.environ.pop("PYTEST_DISABLE_PLUGIN_AUTOLOAD", None)
        atexit.register(os._exit, 0)
        """, family="GI-33",
    ),
)  # fmt: skip

#: Passes by chance, and not by what it knows: how often is measured, and written down.
COIN: Final = _when("coin", "cheats in every second process, by chance", """
import random

_heads = random.SystemRandom().random() < 0.5

def _now():
    return _heads
""", projects=("single",))  # fmt: skip
