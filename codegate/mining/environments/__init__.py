"""What the trees of a mining run their tests in: the builds of the project's recipe, or of one that is found."""
