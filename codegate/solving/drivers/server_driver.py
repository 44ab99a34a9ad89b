"""Replace npx and uvx in an agent's sandbox.

It starts MCP servers from installed packages. If a package is not in the table beside this file, or is in the tree's
own ``node_modules``, the next program of that name in PATH is started.
"""

import json
import os
import sys

HERE = os.path.dirname(os.path.abspath(__file__))


def main() -> None:
    called = [os.path.basename(sys.argv[0]), *sys.argv[1:]]
    with open(os.path.join(HERE, "servers.json"), encoding="utf-8") as file:
        servers = json.load(file)
    for server in servers:
        size = len(server["words"])
        if called[:size] == server["words"] and os.path.isdir(server["folder"]) and not of_tree(server["name"]):
            start = start_npm if server["registry"] == "npm" else start_pypi
            start(server, called[size:])
    others = [folder for folder in os.environ["PATH"].split(os.pathsep) if folder != HERE]
    os.environ["PATH"] = os.pathsep.join(others)
    os.execvp(called[0], called)


def of_tree(name: str) -> bool:
    folder = os.getcwd()
    while not os.path.lexists(os.path.join(folder, "node_modules", name)):
        if folder == os.path.dirname(folder):
            return False
        folder = os.path.dirname(folder)
    return True


def start_npm(server: dict[str, str], arguments: list[str]) -> None:
    folder = os.path.join(server["folder"], "node_modules", server["name"])
    with open(os.path.join(folder, "package.json"), encoding="utf-8") as file:
        programs = json.load(file).get("bin") or {}
    if isinstance(programs, str):
        programs = {server["program"]: programs}
    program = programs.get(server["program"]) or next(iter(programs.values()), "")
    node = os.path.join(os.path.dirname(server["folder"]), "node")
    os.execv(node, [node, os.path.join(folder, program), *arguments])


def start_pypi(server: dict[str, str], arguments: list[str]) -> None:
    from importlib.metadata import distributions

    sys.path.insert(0, server["folder"])
    for distribution in distributions(path=[server["folder"]]):
        for entry in distribution.entry_points:
            if (entry.group, entry.name) == ("console_scripts", server["program"]):
                sys.argv = [server["program"], *arguments]
                sys.exit(entry.load()())
    sys.exit(f"{server['name']} has no program {server['program']}")


main()
