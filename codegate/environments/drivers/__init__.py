"""Programs that run inside sandboxes beside a command; see ``codegate.grading.drivers``."""
