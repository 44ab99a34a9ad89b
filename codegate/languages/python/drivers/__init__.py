"""Programs that run tests of Python inside sandboxes.

See ``codegate.grading.drivers``.
"""
