"""Programs that run tests of Java inside sandboxes; see ``codegate.grading.drivers``."""
