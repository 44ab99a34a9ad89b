"""Run chains of tools."""
