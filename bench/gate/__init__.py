"""How often the gate is wrong, and how often it finds what is there, on simulated suites."""
