"""Controls: marks in tests, and copies beside them.

They show whether a test run can be believed.
"""
