"""Classify a change as bug fix, feature or something else."""
