"""Whether a test run can be believed: receipts, hidden values, and negative controls."""
