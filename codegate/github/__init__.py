"""The GitHub Action: its inputs and event, what it publishes, and the entry point."""

from codegate.github.entry import reap_action, run_action

__all__ = ["reap_action", "run_action"]
