"""Whether a test run can be believed: marks and copies of tests, or receipts and a second run."""
