"""The GitHub Action."""

from codegate.github.entry import reap_action, run_action

__all__ = ["reap_action", "run_action"]
