"""Programs that run tests of Rust inside sandboxes.

See ``codegate.grading.drivers``.
"""
