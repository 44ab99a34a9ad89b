"""Programs that run tests of Go inside sandboxes.

See ``codegate.grading.drivers``.
"""
