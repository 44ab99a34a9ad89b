"""Probes: lines of failing tests with other values, run before and after the fix."""
