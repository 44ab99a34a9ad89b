"""``python -m codegate`` is the same command as ``codegate``."""

from codegate.cli import main

if __name__ == "__main__":
    main()
