"""An example of a package that adds to codegate; each module adds one thing."""
