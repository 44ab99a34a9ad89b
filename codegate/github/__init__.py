"""The GitHub Action: inputs, modes, posts and outputs."""

from codegate.github.entry import reap_action, run_action

__all__ = ["reap_action", "run_action"]
