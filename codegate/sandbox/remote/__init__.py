"""Sandboxes on rented machines: one backend for all providers, and a file for each provider's SDK."""
