#!{python} -IS
"""Stands for uvx in an agent's sandbox: runs a program of the packages that lie beside the agent.

What is not there goes to the next uvx on PATH.
"""

import os
import re
import sys
from pathlib import Path

SITE = "/opt/codegate/agent/site"
VALUED = ("--from", "--with", "-p", "--python")


def main() -> None:
    """Run what the first word that is no option names."""
    from importlib.metadata import distributions

    words = sys.argv[1:]
    while words and words[0].startswith("-"):
        option, _, value = words.pop(0).partition("=")
        if option in VALUED and not value:
            words = words[1:]
    command = re.split(r"[@=\[]", words[0])[0] if words else ""
    for distribution in distributions(path=[SITE]):
        for entry in distribution.entry_points:
            if (entry.group, entry.name) == ("console_scripts", command):
                sys.argv = [command, *words[1:]]
                sys.exit(entry.load()())
    own = str(Path(__file__).resolve().parent)
    others = [folder for folder in os.environ["PATH"].split(os.pathsep) if folder != own]
    os.environ["PATH"] = os.pathsep.join(others)
    os.execvp("uvx", ["uvx", *sys.argv[1:]])


sys.path.insert(0, SITE)
main()
