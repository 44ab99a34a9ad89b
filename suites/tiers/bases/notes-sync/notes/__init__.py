"""Notes that several people edit."""
