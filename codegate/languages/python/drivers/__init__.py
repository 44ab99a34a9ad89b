"""Programs that run tests of Python inside sandboxes."""
