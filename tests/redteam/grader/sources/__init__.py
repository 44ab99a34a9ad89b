"""The texts of the fixture projects, a module each."""
