"""Golden files: what the product does today, kept byte by byte in ``data`` (see CONTRIBUTING.md)."""
