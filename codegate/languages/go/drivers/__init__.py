"""Programs that run tests of Go inside sandboxes."""
