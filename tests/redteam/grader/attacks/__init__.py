"""The attacks, by what they lay hands on."""
