"""Plan a build."""
