"""Proof by execution: what tests show, what is flaky, what leaks, and how much of a fix its tests notice."""
