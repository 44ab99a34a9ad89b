"""Programs that run tests of JavaScript inside sandboxes.

See ``codegate.grading.drivers``.
"""
