"""Programs that run tests of any command inside sandboxes; see ``codegate.grading.drivers``."""
