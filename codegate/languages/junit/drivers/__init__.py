"""Programs that run a command's tests inside sandboxes."""
