"""The agents' tests open sandboxes hundreds of times, and look at them once."""

from tests.running.conftest import one_look

__all__ = ["one_look"]
