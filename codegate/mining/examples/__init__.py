"""Find executed examples: lines of failing tests with other values."""
