"""The agents' tests open sandboxes hundreds of times, and look at them once."""

from tests.running.conftest import findings, one_look

__all__ = ["findings", "one_look"]
