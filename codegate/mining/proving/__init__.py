"""Proof by execution: what tests show, what flickers, what leaks, and how much of a fix its tests notice."""
