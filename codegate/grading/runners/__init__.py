"""Find a test runner by its name, in all languages."""

from typing import cast

from codegate.errors import UsageError
from codegate.grading.runners.contract import Runner, RunnerReport
from codegate.plugins import load_part, runner_places
from codegate.suite import RunnerName

__all__ = ["Runner", "RunnerReport", "find_runner"]


def find_runner(name: RunnerName) -> Runner:
    """Return the runner with a name.

    Raises:
        UsageError: no language has such a runner, or it cannot be loaded.
    """
    places = runner_places()
    if name not in places:
        raise UsageError(f"no test runner is called {name!r}.", f"Name one of {', '.join(sorted(places))}.")
    return cast("Runner", load_part(places[name]))
