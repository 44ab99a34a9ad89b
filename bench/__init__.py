"""Measurements: how fast, how accurate and how often wrong codegate is."""
