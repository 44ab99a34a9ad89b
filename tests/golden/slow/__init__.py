"""The golden tests that take minutes: the demo, and the attacks."""
