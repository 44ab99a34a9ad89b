"""Sandboxes on rented machines, with a file for each provider."""
