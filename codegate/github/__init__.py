"""Where it is said on GitHub: the action's inputs, its outputs and its entry point."""
