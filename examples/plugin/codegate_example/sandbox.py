"""A sandbox backend: bubblewrap under another name. A real one implements ``codegate.sandbox.contract.Backend``.

Run ``codegate.sandbox.conformance`` on yours before you trust it.
"""

from codegate.errors import UsageError
from codegate.sandbox.bubblewrap import BubblewrapBackend
from codegate.sandbox.contract import Backend


class QuietBackend(BubblewrapBackend):
    """Bubblewrap; the name keeps its results apart from those of other backends."""

    @property
    def name(self) -> str:
        """See ``Backend.name``."""
        return "quiet"


def open_backend(run_id: str, option: str | None) -> Backend:
    """Return the backend of ``--sandbox quiet``; ``option`` is what stands behind a colon there."""
    if option is not None:
        raise UsageError("the sandbox quiet takes no option.", "Write --sandbox quiet.")
    return QuietBackend(run_id)
