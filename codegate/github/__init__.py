"""Where it is said on GitHub: the action's inputs, the step's outputs and summary, and the entry point."""

from codegate.github.entry import reap_action, run_action

__all__ = ["reap_action", "run_action"]
