"""Where changes come from: git history, pull requests, a forge."""
