"""The programming languages as text: syntax trees, read and edited, never executed."""
