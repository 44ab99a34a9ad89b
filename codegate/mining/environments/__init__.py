"""What a tree needs to run its tests: read from its files without running them, and resolved to locks."""
