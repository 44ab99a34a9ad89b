"""The search box of a ticket system."""
