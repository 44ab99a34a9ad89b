"""Programs that run tests of Rust inside sandboxes."""
