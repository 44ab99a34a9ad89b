"""Check by marks and altered copies that tests really passed."""
