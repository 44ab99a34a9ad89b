"""Write statements: what a model reads about a bug."""
