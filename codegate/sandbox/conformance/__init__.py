"""What every backend must pass before anything untrusted runs in it.

``preflight`` is the part that each run repeats. Each check opens its own sandbox, attacks or uses it as a real command
would, and raises ``ConformanceFailure`` with what it saw. A new backend is finished when ``CHECKS`` and
``BUILD_CHECKS`` pass on it.
"""

from codegate.sandbox.conformance import builds, commands, files, isolation, lifecycle, relay, resources
from codegate.sandbox.conformance.subject import Check, ConformanceFailure, Subject

CHECKS: tuple[Check, ...] = (
    *commands.CHECKS,
    *files.CHECKS,
    *resources.CHECKS,
    *isolation.CHECKS,
    *lifecycle.CHECKS,
    *relay.CHECKS,
)
"""Every check, by room: commands, files, resources, isolation, lifecycle, relay."""
BUILD_CHECKS: tuple[Check, ...] = builds.CHECKS
"""Every check of recorded builds."""

__all__ = ["BUILD_CHECKS", "CHECKS", "Check", "ConformanceFailure", "Subject"]
