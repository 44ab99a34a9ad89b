"""What the tests of the action that really run something share."""

import pytest

from codegate.sandbox import selection
from codegate.sandbox.bubblewrap import BubblewrapBackend


@pytest.fixture
def quick_sandboxes(bwrap_backend: BubblewrapBackend, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the action, which asks for Docker, have bubblewrap: its runs cost a third there.

    What the modes do with a run is the same in both; ``tests/e2e`` runs the action's image with Docker.
    """
    monkeypatch.setattr(selection, "_BACKENDS", {**selection._BACKENDS, "docker": selection._bubblewrap})
