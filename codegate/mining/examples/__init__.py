"""Find executed examples of a bug.

They are lines of failing tests, with other values.
"""
