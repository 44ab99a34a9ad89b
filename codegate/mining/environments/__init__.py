"""Builds of a project's environment in which mining runs tests."""
