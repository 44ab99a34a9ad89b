"""Programs that run tests of Go inside sandboxes; see ``codegate.grading.drivers``."""
