"""The packages that MCP servers are started from: ``npx NAME`` and ``uvx NAME`` in the files of a harness.

They are installed beside the agent. In the sandbox, which has no network, two programs of ours stand for ``npx`` and
``uvx``: they run what lies there, and leave the rest to the tree's own.
"""

import contextlib
import posixpath
import re
from collections.abc import Iterator, Mapping
from importlib import resources
from typing import Any, Final

from codegate.candidates.agents.contract import Agent
from codegate.candidates.harness import Harness, part_of

_VALUED: Final = {"npx": ("-p", "--package", "-c", "--call"), "uvx": ("--from", "--with", "-p", "--python")}
_NAMING: Final = {"npx": ("-p", "--package"), "uvx": ("--from",)}
_NPM: Final = re.compile(r"((?:@[a-z0-9~][\w.~-]{0,100}/)?[a-z0-9~][\w.~-]{0,100})(?:@([\w.^~*-]{1,60}))?")
_PYPI: Final = re.compile(r"([A-Za-z0-9][\w.-]{0,100}(?:\[[\w,.-]{1,100}\])?)(?:(?:==|@)([\w.!+-]{1,60}))?")
_MOST: Final = 20


def servers_of(agent: Agent, harness: Harness) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Yield the MCP servers that the files of a harness configure, by name."""
    for file in harness.laid or ():
        if file.path == harness.mcp or part_of(file.path, agent.places) == "servers":
            with contextlib.suppress(ValueError):  # the folder of a run may hold anything
                yield from agent.servers(file.path, file.text).items()


def server_packages(agent: Agent, harness: Harness | None) -> tuple[dict[str, str], tuple[str, ...]]:
    """Return what servers are started from: versions by the names of npm's packages, and requirements of PyPI's.

    An address or a path is none of them: such a server does not start, and the harness's parts say so.
    """
    npm: dict[str, str] = {}
    pypi: set[str] = set()
    for _, server in servers_of(agent, harness) if harness is not None else ():
        program, asked = _asked(server)
        if program == "npx" and (found := _NPM.fullmatch(asked)):
            npm[found[1]] = found[2] or "latest"
        elif program == "uvx" and (found := _PYPI.fullmatch(asked)):
            pypi.add(f"{found[1]}=={found[2]}" if found[2] not in {None, "latest"} else found[1])
    return dict(sorted(npm.items())[:_MOST]), tuple(sorted(pypi)[:_MOST])


def server_programs() -> dict[str, str]:
    """Return the texts of the programs that stand for ``npx`` and ``uvx``."""
    folder = resources.files("codegate.candidates.agents")
    names = {"npx": "npx_program.cjs", "uvx": "uvx_program.py"}
    return {name: folder.joinpath(file).read_text(encoding="utf-8") for name, file in names.items()}


def _asked(server: Mapping[str, Any]) -> tuple[str, str]:
    """Return the program that starts a server, and the package that it is told to run."""
    command, arguments = server.get("command"), server.get("args")
    listed = [
        *(command if isinstance(command, list) else [command]),
        *(arguments if isinstance(arguments, list) else []),
    ]
    program, *words = [word for word in listed if isinstance(word, str)] or [""]
    program, named = posixpath.basename(program), ""
    while words and words[0].startswith("-"):
        option, _, value = words.pop(0).partition("=")
        if option in _VALUED.get(program, ()):
            value = value or (words.pop(0) if words else "")
            named = value if option in _NAMING[program] else named
    return program, named or (words[0] if words else "")
