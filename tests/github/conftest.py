"""What the tests of the action share: a GitHub whose tokens may post, and quick sandboxes."""

from collections.abc import Iterator

import pytest

from codegate.sandbox import selection
from codegate.sandbox.bubblewrap import BubblewrapBackend
from tests.kit.github import FakeGitHub, Token, fake_github
from tests.kit.github.rest import Rest
from tests.running.conftest import one_look

__all__ = ["one_look"]

HEAD = "a" * 40
"""Head of pull request 7."""
_MAY = frozenset({"pull-requests: write", "contents: read", "checks: write", "issues: write"})


@pytest.fixture
def server() -> Iterator[FakeGitHub]:
    """An Enterprise server with one pull request, and tokens of a workflow, a person, an app and a fork's run."""
    tokens = {
        "ghs_workflow": Token(_MAY),
        "ghp_person": Token(_MAY, login="alice", app=False),
        "ghs_app": Token(_MAY, login="gatekeeper[bot]"),
        "ghs_reader": Token(frozenset({"contents: read"})),
        "ghs_fork": Token(frozenset({"pull-requests: read", "issues: read", "contents: read"})),
    }
    with fake_github("/api/v3", tokens) as github:
        github.store(Rest).add_pull(7, HEAD)
        yield github


class Quick(BubblewrapBackend):
    """Bubblewrap for the action, which asks for Docker and resumes no run of another kind: it costs a third.

    What the modes do with a run is the same in both; ``tests/e2e`` runs the action's image with Docker.
    """

    name = "docker"


def use_quick_sandboxes() -> None:
    """Give this process ``Quick`` for Docker."""
    selection._BACKENDS = {**selection._BACKENDS, "docker": lambda run_id, _: Quick(run_id)}  # type: ignore[misc]


@pytest.fixture
def quick_sandboxes(bwrap_backend: BubblewrapBackend, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the action have ``Quick``."""
    monkeypatch.setattr(selection, "_BACKENDS", selection._BACKENDS)  # to be put back
    use_quick_sandboxes()
