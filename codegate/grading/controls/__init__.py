"""Whether a test run can be believed: receipts, hidden values, and the control run."""
