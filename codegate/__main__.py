"""``python -m codegate``: the command ``codegate``."""

from codegate.cli import main

if __name__ == "__main__":
    main()
