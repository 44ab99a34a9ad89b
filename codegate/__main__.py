"""Runs the command ``codegate`` for ``python -m codegate``."""

from codegate.cli import main

if __name__ == "__main__":
    main()
