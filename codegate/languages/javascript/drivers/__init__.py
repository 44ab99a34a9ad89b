"""Programs that run tests of JavaScript inside sandboxes."""
