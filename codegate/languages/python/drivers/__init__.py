"""Programs that run tests of Python inside sandboxes; see ``codegate.grading.drivers``."""
