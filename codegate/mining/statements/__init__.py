"""What a model is told about a bug, and what it must not be told."""
