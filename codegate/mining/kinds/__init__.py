"""What kind of change a unit is: a bug fix, a feature, or something else, and from which signals."""
