"""Probes: what a failing test asks, with other values, run before the fix and after it."""
