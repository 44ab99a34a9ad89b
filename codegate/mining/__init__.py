"""Where problems come from: git history → units → cut into source and tests → environment → validated problems."""
