"""Whether a test run can be believed: marks of tests, and copies beside them."""
