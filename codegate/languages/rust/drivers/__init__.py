"""Programs that run Rust's tests inside sandboxes; see ``codegate.grading.drivers``."""
