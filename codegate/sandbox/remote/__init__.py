"""Sandboxes on rented machines; each provider is a file."""
