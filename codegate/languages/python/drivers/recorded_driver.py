"""How the drivers of Python tests go into a recorded build: its packages, its variables, and pytest's options there.

They bring this text along. Standard library only, in syntax of Python 3.8.
"""

from __future__ import annotations

import copy
import os
import site
import sys
import warnings
from typing import Any

#: What keeps an option of pytest or a plugin from disturbing a measurement, by the name that pytest keeps it under:
#: tests elsewhere, some of them only, in another order, again, or slower. A plugin that is not there has no such name.
SWITCHES = {
    "maxfail": ["--maxfail=0"],
    "numprocesses": ["-n0", "--dist=no"],
    "no_cov": ["--no-cov"],
    "reruns": ["--reruns=0"],
    "randomly_reorganize": ["--randomly-dont-reorganize", "--randomly-seed=0"],
    "random_order_bucket": ["--random-order-bucket=none"],
    "benchmark_disable": ["--benchmark-disable"],
    "hypothesis_seed": ["--hypothesis-seed=0"],
}
#: Options that no later one takes back.
WITHDRAWN = {"--benchmark-only", "--benchmark-enable", "--forked", "--random-order", "--reverse"}


def enter_environment(settings: dict[str, Any]) -> tuple[str, list[str]]:
    """Let the environment in as the interpreter does by itself; return its first folder and the command's own roots.

    Until now the standard library alone could be imported: the driver's settings are read, and its channel is open.
    The roots are not on the path yet.
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
    paths = [os.path.abspath(path) for path in os.environ.get("PYTHONPATH", "").split(os.pathsep) if path]
    return sys.path[standard], [os.getcwd(), *paths] if settings["module"] else paths


def steady_options(early_config: Any, parser: Any, args: list[str]) -> list[str]:
    """Take from pytest's ``args`` what would disturb a measurement; return what the project has otherwise, in words.

    Called once every plugin has declared its options, and before these are parsed for good.
    """
    known = early_config.known_args_namespace
    steady = [word for word in args if word not in WITHDRAWN]
    steady += [word for name, words in SWITCHES.items() if hasattr(known, name) for word in words]
    usual, before, after = (
        vars(parser.parse_known_args(each, copy.copy(early_config.option))) for each in ([], args, steady)
    )
    if "no_cov" in after:
        after["cov_source"] = []  # what it stands for
    changed = sorted(name for name, value in after.items() if before.get(name) != value)
    for name in changed:
        setattr(known, name, after[name])
    args[:] = steady
    own = (name for name in changed if before.get(name) != usual.get(name))
    return ["%s: %s is now %s" % (name, before.get(name), after[name]) for name in own]
