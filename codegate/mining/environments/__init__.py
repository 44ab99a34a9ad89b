"""The recorded builds in which mining runs tests."""
