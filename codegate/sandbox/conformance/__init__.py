"""Checks that every backend must pass.

``preflight`` is the part that each run repeats. Each check opens its own sandbox, uses or attacks it as a real command
would, and raises ``ConformanceFailure`` with the evidence. A new backend has to pass ``CHECKS`` and ``BUILD_CHECKS``.
"""

from types import ModuleType

from codegate.sandbox.conformance import builds, commands, files, isolation, lifecycle, relay, resources
from codegate.sandbox.conformance.subject import Check, ConformanceFailure, Subject


def checks_of(module: ModuleType) -> tuple[Check, ...]:
    """Return a module's checks: functions that take only a ``Subject``."""
    wanted = {"subject": Subject, "return": None}
    return tuple(one for one in vars(module).values() if getattr(one, "__annotations__", None) == wanted)


CHECKS: tuple[Check, ...] = tuple(
    check for module in (commands, files, resources, isolation, lifecycle, relay) for check in checks_of(module)
)
"""Every check, in the order of the modules."""
BUILD_CHECKS: tuple[Check, ...] = checks_of(builds)
"""Every check of recorded builds."""

__all__ = ["BUILD_CHECKS", "CHECKS", "Check", "ConformanceFailure", "Subject", "checks_of"]
