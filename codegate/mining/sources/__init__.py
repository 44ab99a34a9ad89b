"""Read merged changes from git history and GitHub."""
