"""Where changes come from: local git history, heads of pull requests, and what a forge knows of the best of them."""
