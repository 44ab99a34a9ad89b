"""Read the commands of tox and nox.

Their files are read as data, and their set-up goes into the recipe's own environment.
"""

import ast
import re
import shlex
from collections.abc import Iterator, Mapping
from typing import Final

from codegate.suite import Tree
from codegate.suite.declared import at, mapping, read_ini, read_text, read_toml, strings

_FILLED: Final = re.compile(r"\{(?:env:\w+:([^{}]*)|(\w+)|[^{}]*)\}")
_FOR: Final = re.compile(r"^([\w.,-]+):\s+(.*)$")


def tox_commands(
    tree: Tree, folder: str, words: list[str], python: str, env: Mapping[str, str]
) -> Iterator[tuple[str, str, str]]:
    """Yield the commands that ``tox`` runs after installing.

    Each is a command text with its folder and place. tox installs into its own environment; here that is the recipe's,
    and the project is installed as editable.
    """
    given = _argument(words, {"-e"}) or env.get("TOXENV") or env.get("TOX_ENV") or ""
    name = given.partition(",")[0]
    name = f"py{python.replace('.', '')}" if python and name in {"", "py", "python3"} else name or "py"
    inside = f"{folder}/" if folder else ""
    sections = read_ini(tree, f"{inside}tox.ini")
    own = {**sections.get("testenv", {}), **sections.get(f"testenv:{name}", {})}
    lines = [line for key in ("commands_pre", "commands") for line in _lines(own.get(key, ""), name)]
    variables = _lines(own.get("setenv", own.get("set_env", "")), name)
    place, plain, tables = "tox.ini", True, ["testenv"]
    for path, table in _tables(tree, inside).items() if not sections else ():
        own = {**mapping(at(table, "env_run_base")), **mapping(at(table, "env", name))}
        listed = own.get("commands")
        commands: list[object] = listed if isinstance(listed, list) else []
        lines = [shlex.join(filter(None, (_substituted(word, name) for word in strings(one)))) for one in commands]
        plain = "runner" not in own  # a plug-in's runner installs by the lock file
        above = "tool.tox." if path == "pyproject.toml" else ""
        # Which of the two counts depends on tox's version, and on whether the first is there.
        place, tables = path, [f"{above}env.{name}", f"{above}env_run_base"]
        if lines:
            break
    if lines:
        options = " ".join(f"-x {one}.env_dir=$VIRTUAL_ENV -x {one}.package=editable" for one in tables)
        install = [f"uv tool run tox run --notest -e {shlex.quote(name)} {options}"] if plain else []
        exports = [f"export {shlex.quote(line.replace(' = ', '=', 1))}" for line in variables if "=" in line]
        yield "\n".join([*install, *exports, *lines]), folder, f"`{inside}{place}`"


def nox_commands(tree: Tree, folder: str, words: list[str]) -> Iterator[tuple[str, str, str]]:
    """Yield a ``nox`` session's commands, if they are literals.

    Each is a command text with its folder and place.
    """
    wanted = re.sub(r"(?:-|\()\d.*$", "", _argument(words, {"-s", "-e", "--session", "--sessions"}))
    path = f"{folder}/noxfile.py" if folder else "noxfile.py"
    try:
        module = ast.parse(read_text(tree, path))
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return
    for function in module.body:
        if not isinstance(function, ast.FunctionDef):
            continue
        names = {function.name} | {name for one in function.decorator_list for name in _named(one)}
        if wanted in names if wanted else "test" in function.name:
            calls = [call for call in ast.walk(function) if isinstance(call, ast.Call)]
            lines = [_called(call) for call in sorted(calls, key=lambda call: call.lineno)]
            if None not in lines:
                yield "\n".join(filter(None, lines)), folder, f"`{path}`, session `{function.name}`"


def _called(call: ast.Call) -> str | None:
    """Return the shell command that a nox call runs.

    It is "" for a call that runs nothing, and None if a part is not a literal.
    """
    verb = call.func.attr if isinstance(call.func, ast.Attribute) else ""
    if verb not in {"install", "run", "run_install", "run_always"}:
        return ""
    own = [one for one in call.args if not (isinstance(one, ast.Starred) and "posargs" in ast.unparse(one))]
    words = [one.value for one in own if isinstance(one, ast.Constant) and isinstance(one.value, str)]
    if len(words) < len(own) or not words:
        return None
    return shlex.join(["pip", "install", *words] if verb == "install" else words)


def _named(decorator: ast.expr) -> Iterator[str]:
    for keyword in decorator.keywords if isinstance(decorator, ast.Call) else ():
        if keyword.arg == "name" and isinstance(keyword.value, ast.Constant):
            yield str(keyword.value.value)


def _argument(words: list[str], options: set[str]) -> str:
    for option, value in zip(words, [*words[1:], ""], strict=False):
        if option in options:
            return value
        if option.partition("=")[0] in options:
            return option.partition("=")[2]
    return ""


def _lines(text: str, name: str) -> list[str]:
    """Return the lines of tox's setting for environment ``name``."""
    found = []
    for line in re.sub(r"\\\n\s*", " ", text).splitlines():
        match = _FOR.match(line.strip())
        if match is not None and not any(set(one.split("-")) <= set(name.split("-")) for one in match[1].split(",")):
            continue
        found.append(_substituted(match[2] if match is not None else line.strip(), name).lstrip("- "))
    return [line for line in found if line and not line.startswith("#")]


def _substituted(text: str, name: str) -> str:
    """Return tox's ``text`` with ``{…}`` filled in; unknown ones empty."""
    known = {"toxinidir": ".", "tox_root": ".", "envpython": "python", "envname": name, "env_name": name}
    known |= dict.fromkeys(("envtmpdir", "env_tmp_dir"), "/tmp/tox")  # noqa: S108
    return _FILLED.sub(lambda match: match[1] or known.get(match[2] or "", ""), text).strip()


def _tables(tree: Tree, inside: str) -> Mapping[str, Mapping[str, object]]:
    own = at(read_toml(tree, f"{inside}pyproject.toml"), "tool", "tox")
    return {"tox.toml": read_toml(tree, f"{inside}tox.toml"), "pyproject.toml": own if isinstance(own, dict) else {}}
