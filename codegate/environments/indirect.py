"""Read the commands that tools, targets and scripts run.

Their files are read as data. The set-up of tox goes into the recipe's own environment.
"""

import posixpath
import re
import shlex
from collections.abc import Iterator, Mapping
from itertools import islice, product
from typing import Final, NamedTuple

from codegate.environments.steps import one_line_each
from codegate.suite import Tree, is_plain_path
from codegate.suite.declared import (
    mapping,
    read_ini,
    read_toml,
    read_tree_json,
    read_tree_text,
    strings,
    value_at,
)

ELSEWHERE: Final = "-"  # a folder outside the tree
ASSIGNED: Final = re.compile(r"([A-Za-z_]\w*)=(.*)", re.DOTALL)
_MADE: Final = re.compile(r"\$\$|\$[({]([^(){}]*)[)}]|\$[@<^*?]")
_FILLED: Final = re.compile(r"\{(?:env:\w+:([^{}]*)|(\w+)|[^{}]*)\}")
_NEVER: Final = "2999-12-31"
_DEEPEST: Final = 4  # levels of nested braces in tox's settings
_MOST_ALTERNATIVES: Final = 200
_LONGEST: Final = 20_000  # characters that are read of a setting of tox
_FOR: Final = re.compile(r"^((?:[\w.,!-]|\{[\w.,!-]*\})+):\s+(.*)$")


class ShellText(NamedTuple):
    """Shell commands, their folder, and where they are written."""

    text: str
    folder: str
    place: str


def indirect_texts(
    tree: Tree, words: list[str], session: int, folder: str, python: str, env: Mapping[str, str]
) -> Iterator[ShellText]:
    """Yield the shell texts that a command runs indirectly.

    The command, ``words``, may be tox, a package manager, make, just, or a script. ``session`` is the position of
    ``tox`` or ``nox`` in it, or -1. ``python``, a version, and the variables ``env`` select the environment of tox.
    """
    program, *rest = words
    if session >= 0 and words[session] == "tox":
        yield from _tox_commands(tree, folder, words[session + 1 :], python, env)
    elif program in {"uv", "poetry", "pdm", "pipenv", "hatch", "rye"} and rest[:1] == ["run"] and len(rest) > 1:
        yield ShellText(shlex.join(rest[1:]), folder, "")
    elif program in {"npm", "pnpm", "yarn", "bun"}:
        yield from _script(tree, rest, folder)
    elif program in {"make", "gmake", "just"}:
        yield from _target(tree, program, rest, folder)
    else:
        name = rest[0] if program in {"sh", "bash"} and rest else program
        path = path_below(folder, name)
        text = read_tree_text(tree, path) if "/" in name or name != program else ""
        if re.match(r"#! ?/\S*(?:sh|env (?:ba)?sh)\b", text) or name.endswith(".sh"):
            yield ShellText(text, folder, f"`{path}`")


def _script(tree: Tree, words: list[str], folder: str) -> Iterator[ShellText]:
    """Yield the ``package.json`` script that ``npm`` runs with ``words``."""
    end = words.index("--") if "--" in words else len(words)
    plain: list[str] = []
    queue = (word for word in words[:end] if word not in {"-s", "--silent", "--bun"})
    for word in queue:
        if word in {"--prefix", "-C", "--dir", "--cwd"}:
            folder = path_below(folder, next(queue, ""))
        elif not plain and word.startswith("-"):
            return
        elif plain or word not in {"run", "run-script"}:
            plain.append(word)
    if not plain:
        return
    name, arguments = "test" if plain[0] == "t" else plain[0], [*plain[1:], *words[end + 1 :]]
    path = path_below(folder, "package.json")
    scripts = mapping(read_tree_json(tree, path).get("scripts"))
    if isinstance(script := scripts.get(name), str):
        texts = [*strings(scripts.get(f"pre{name}")), " ".join([script, *map(shlex.quote, arguments)])]
        yield ShellText("\n".join(texts), folder, f"`{path}`, script `{name[:60]}`")


def _target(tree: Tree, program: str, words: list[str], folder: str) -> Iterator[ShellText]:
    """Yield the shell text of each named target.

    ``words`` are the arguments of ``program``: ``make``, ``gmake`` or ``just``. The commands of a target's
    prerequisites come first.
    """
    names = ("justfile", "Justfile", ".justfile") if program == "just" else ("GNUmakefile", "makefile", "Makefile")
    variables = {}
    targets = []
    queue = iter(words)
    for word in queue:
        if word == "-C":
            folder = path_below(folder, next(queue, ""))
        elif match := ASSIGNED.fullmatch(word):
            variables[match[1]] = match[2]
        elif not word.startswith("-"):
            targets.append(word)
    for path in (path_below(folder, name) for name in names):
        text = read_tree_text(tree, path)
        for target in targets if text else ():
            lines = _recipe_lines(text, target, variables, set())
            yield ShellText("\n".join(lines), folder, f"`{path}`, target `{target[:60]}`")


def _tox_commands(
    tree: Tree, folder: str, words: list[str], python: str, env: Mapping[str, str]
) -> Iterator[ShellText]:
    """Yield the commands of a ``tox`` environment.

    They first let tox install the dependencies into the recipe's environment, with the project as editable.
    """
    given = re.search(r"(?:^|\s)-[qrv]*e[=\s]?(\S+)", " ".join(words))
    name = (given[1] if given is not None else env.get("TOXENV", "")).partition(",")[0]
    name = f"py{python.replace('.', '')}" if python and name in {"", "py", "python3"} else name or "py"
    inside = f"{folder}/" if folder else ""
    sections = read_ini(tree, f"{inside}tox.ini")
    own = {**sections.get("testenv", {}), **sections.get(f"testenv:{name}", {})}
    lines = [line for key in ("commands_pre", "commands") for line in _lines(own.get(key, ""), name)]
    variables = _lines(own.get("setenv", own.get("set_env", "")), name)
    place, plain, tables = "tox.ini", True, ["testenv"]
    table_of_project = mapping(value_at(read_toml(tree, f"{inside}pyproject.toml"), "tool", "tox"))
    files = {"tox.toml": read_toml(tree, f"{inside}tox.toml"), "pyproject.toml": table_of_project}
    for path, table in files.items() if not sections else ():
        own = {**mapping(value_at(table, "env_run_base")), **mapping(value_at(table, "env", name))}
        listed = own.get("commands")
        commands: list[object] = listed if isinstance(listed, list) else []
        lines = [shlex.join(filter(None, (_substituted(word, name) for word in strings(one)))) for one in commands]
        plain = "runner" not in own  # a plug-in's runner installs from the lock file
        above = "tool.tox." if path == "pyproject.toml" else ""
        # Which of the two tables counts depends on tox's version and on whether the first one exists.
        place, tables = path, [f"{above}env.{name}", f"{above}env_run_base"]
        if lines:
            break
    if lines:
        options = " ".join(f"-x {one}.env_dir=${{VIRTUAL_ENV:?}} -x {one}.package=editable" for one in tables)
        # Today's tox is used, because the tox of an old change's day has no ``-x``.
        install = (
            [f"uv tool run --exclude-newer {_NEVER} tox run --notest -e {shlex.quote(name)} {options}"] if plain else []
        )
        # The project's own value for ``VIRTUAL_ENV`` is left out: tox would empty the tree if it were empty.
        set_here = (line.replace(" = ", "=", 1) for line in variables if line.partition("=")[2].strip())
        exports = [f"export {shlex.quote(line)}" for line in set_here if not line.startswith("VIRTUAL_ENV=")]
        yield ShellText("\n".join([*install, *exports, *lines]), folder, f"`{inside}{place}`")


def _lines(text: str, name: str) -> list[str]:
    found = []
    for line in one_line_each(text[:_LONGEST]).splitlines():
        match = _FOR.match(line.strip())
        if match is not None and not any(_holds(one, name.split("-")) for one in _alternatives(match[1])):
            continue
        found.append(_substituted(match[2] if match is not None else line.strip(), name).lstrip("- "))
    return [line for line in found if line and not line.startswith("#")]


def _alternatives(condition: str) -> Iterator[str]:
    """Yield the alternatives in tox's ``condition``, braces expanded.

    ``py3{8,9},lint`` gives ``py38``, ``py39`` and ``lint``.
    """
    for one in re.findall(r"(?:[^,{}]|\{[^{}]*\})+", condition):
        parts = (part[1:-1].split(",") if part.startswith("{") else [part] for part in re.split(r"(\{[^{}]*\})", one))
        yield from islice(map("".join, product(*parts)), _MOST_ALTERNATIVES)


def _holds(condition: str, factors: list[str]) -> bool:
    return all((one.removeprefix("!") in factors) != one.startswith("!") for one in condition.split("-"))


def _substituted(text: str, name: str) -> str:
    """Return ``text`` with tox's ``{…}`` placeholders filled in.

    ``name`` is the tox environment. Unknown placeholders become empty.
    """
    known = {"toxinidir": ".", "tox_root": ".", "envpython": "python", "envname": name, "env_name": name}
    known |= dict.fromkeys(("envtmpdir", "env_tmp_dir"), "/tmp/tox")  # noqa: S108
    for _ in range(_DEEPEST):
        text = _FILLED.sub(lambda match: match[1] or known.get(match[2] or "", ""), text)
    return text.strip()


def path_below(folder: str, name: str) -> str:
    """Return ``folder/name``, or ``ELSEWHERE`` if outside of the repository."""
    # A path that leaves the root, or is absolute, is no file of the tree, and neither is one below it.
    if folder == ELSEWHERE:
        return ELSEWHERE
    path = posixpath.normpath(posixpath.join(folder, name))
    return "" if path == "." else path if is_plain_path(path) else ELSEWHERE


def _rule(text: str, target: str) -> tuple[re.Match[str] | None, str]:
    """Return a target's prerequisites and commands, as groups.

    The second value is what ``%`` stands for if the rule is a pattern, such as ``test-%``.
    """
    for name in (target, *re.findall(r"^[\w.-]*%[\w.-]*(?=[^=\n]*:)", text, re.MULTILINE)):
        begin, _, end = name.partition("%")
        rule = rf"^@?(?:[\w./-]+[ \t]+)*{re.escape(name)}(?:[ \t][^:=\n]*)?:(?![=])(.*)\n((?:[ \t]+.*(?:\n|\Z)|\n)*)"
        fits = target.startswith(begin) and target.endswith(end)
        if fits and (found := re.search(rule, f"{text}\n", re.MULTILINE)) is not None:
            return found, target[len(begin) : len(target) - len(end)]
    return None, ""


def _recipe_lines(text: str, target: str, given: Mapping[str, str], seen: set[str]) -> Iterator[str]:
    """Yield the shell lines of ``target`` and its prerequisites.

    ``text`` is the makefile; its variables are overridden by ``given``. Targets in ``seen`` are skipped.
    """
    found, stem = _rule(text, target)
    if found is None or target in seen or len(seen) > 20:
        return
    seen.add(target)
    for other in re.sub(r"[#;].*|[|&@]", "", found[1]).split():
        yield from _recipe_lines(text, other, given, seen)
    assigned = re.findall(r"^(?:export\s+)?(\w+)\s*[:?]{0,2}=[ \t]*(.*)$", text, re.MULTILINE)
    variables = {"*": stem, **dict(assigned), **given}

    def value(match: re.Match[str], depth: int = 4) -> str:
        name = (match[1] or match[0][1:]).strip()
        if match[0] == "$$":
            return "$"
        if name.startswith("shell "):
            return f"$({name[6:]})"
        return _MADE.sub(lambda inner: value(inner, depth - 1), variables.get(name, "")) if depth else ""

    for line in one_line_each(found[2]).splitlines():
        yield re.sub(r"\{\{.*?\}\}", "", _MADE.sub(value, line.strip().lstrip("@-+")))
