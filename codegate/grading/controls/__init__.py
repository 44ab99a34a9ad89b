"""Marks and copies that prove a test run's results."""
