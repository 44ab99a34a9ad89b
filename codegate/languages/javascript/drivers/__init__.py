"""Programs that run tests of JavaScript inside sandboxes; see ``codegate.grading.drivers``."""
