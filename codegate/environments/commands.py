"""Find test and set-up commands in CI files, executing nothing."""

import posixpath
import re
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice, pairwise
from typing import Final

from codegate.environments.indirect import ASSIGNED, ELSEWHERE, indirect_texts, path_below
from codegate.environments.recipe import Recipe, split_module_flag
from codegate.environments.steps import QUOTED, STRUCTURE, one_line_each, shorten
from codegate.environments.variables import VENV
from codegate.suite import Tree

_DEEPEST: Final = 5  # levels of scripts and targets that call each other
_MOST_LINES: Final = 400
_LONGEST: Final = 4000  # characters that are read of a line
_PIECE: Final = re.compile(
    rf"\$\{{\{{.{{0,1000}}?\}}\}}|{QUOTED}|\\.|\$\([^()]*\)|\d?>&\d?|&>>?|&&|\|\||[;&|]|[^;&|'\"\\$>\d]+|.", re.DOTALL
)
_LED_BY: Final = re.compile(r"^(?:[({!]\s*|(?:then|do|else|time|exec|command|env)\s+)+")
_SET: Final = re.compile(
    rf"\s*([A-Za-z_]\w*=(?:\$\{{\{{.{{0,1000}}?\}}\}}|\$\([^()]*\)|{QUOTED}|\\.|[^\s'\"\\])*+)(?=\s)"
)
_VARIABLE: Final = re.compile(
    r"\$\{\{(?P<github>.{0,1000}?)\}\}|'[^']*'|\$\((?:[^()]|\([^()]*\))*\)|`[^`]*`|\$\{(\w+)(?::?-([^}]*))?[^}]*\}|\$(\w+|[@*#?!$])"
)
_RUNNER: Final = re.compile(
    r"(?:^|[\s/])(?:py\.?test|-m unittest|manage\.py test|django-admin test|vitest|jest|mocha|go test|bun test"
    r"|deno test|cargo (?:\+\S+ )?(?:test|nextest run)|node (?:\S+ )*--test|(?P<jvm>mvnw?|gradlew?))(?=\s|$)"
)
"""Commands that are known to run tests. Other commands with ``test`` in their name are proposed, and a try decides."""
_COMPILES: Final = re.compile(r"--?(?:race|msan|asan|tags\b.*)$")
"""Options of ``go test`` that decide how dependencies are compiled."""
_DOWNLOAD: Final = "go mod download"
_LIST: Final = "go list -e -deps -test"
"""Go's list of dependencies; ``-e`` goes on after a broken package, such as one that embeds an unbuilt web page."""
_DEPENDENCIES: Final = "{{if or .Standard (and .Module (not .Module.Main))}}{{.ImportPath}}{{end}}"
"""Go template of packages outside the project, whose compiled code would show a later fix to an earlier tree."""
_JVM: Final = re.compile(r"(?i)(?:^|:)(?:test|verify|package|install|check|build|\w+Test)$")
_LAUNCHERS: Final = {"python", "python3", "uv", "uvx", "pipx", "poetry", "pdm", "hatch"}
_ABSENT: Final = ("install", "add", "download", "uninstall")


@dataclass(frozen=True)
class TestCommand:
    """A command that runs tests.

    Attributes:
        words: the program and its arguments.
        known: whether it is a known test runner; otherwise only its name suggests that it runs tests.
        folder: the folder that it runs in, from the repository's root.
        env: variables that are set only for it.
        before: commands that come before it in the same text.
        place: the file that has the command, if the workflow itself does not.
        left_out: notes on variables without a value outside of CI, and on rewritten parts.
        rewritten: whether it runs less than CI does.
    """

    words: tuple[str, ...]
    known: bool
    folder: str
    env: Mapping[str, str]
    before: str = ""
    place: str = ""
    left_out: tuple[str, ...] = ()
    rewritten: bool = False


@dataclass(frozen=True)
class Commands:
    """Finds test commands in shell texts of CI.

    It follows scripts, make targets and tox into the files of ``tree``. ``env`` has the values of variables; ``python``
    is the version for which tox runs.
    """

    tree: Tree
    env: Mapping[str, str]
    python: str = ""

    def tests_in(self, text: str, folder: str, depth: int = _DEEPEST) -> list[TestCommand]:
        """Return the test commands in the shell text ``text``.

        The text runs in ``folder``. If no command starts a known test runner, the last one is returned whose name
        suggests tests. ``depth``: how many scripts or targets may still be followed.
        """
        known: list[TestCommand] = []
        maybe: list[TestCommand] = []
        earlier: list[str] = []
        outer: list[str] = []  # the folders around open subshells
        reader = self
        for line in one_line_each(text).splitlines()[:_MOST_LINES]:
            pieces = _pieces(line[:_LONGEST])
            for index, piece in enumerate(pieces):
                if piece == "(":
                    outer.append(folder)
                    continue
                if piece == ")":
                    folder = outer.pop() if outer else folder
                    continue
                if piece.startswith(("cd ", "export ")):
                    words = _split(piece)
                    if words[:1] == ["cd"] and len(words) == 2:
                        folder = path_below(folder, words[1])
                    if words[:1] == ["export"] and not line.startswith((" ", "\t")):
                        assigned = (ASSIGNED.fullmatch(word) for word in words[1:] if "$" not in word)
                        reader = replace(reader, env={**reader.env, **{one[1]: one[2] for one in assigned if one}})
                    continue
                for one in reader._resolve(piece, folder, depth) if folder != ELSEWHERE else ():
                    before = "\n".join(filter(None, [*earlier, *pieces[:index], one.before, *(")" * len(outer))]))
                    left_out = one.left_out
                    if STRUCTURE.search(before):  # only a run would show what a branch or a loop does
                        clause = f"what goes before `{shorten(shlex.join(one.words))}`: it has a branch or a loop"
                        before, left_out = "", (*left_out, clause)
                    own = {name: value for name, value in reader.env.items() if self.env.get(name) != value}
                    (known if one.known else maybe).append(
                        replace(one, before=before, left_out=left_out, env={**own, **one.env})
                    )
            earlier.append(line)
        return known or maybe[-1:]

    def _resolve(self, piece: str, folder: str, depth: int) -> list[TestCommand]:
        """Return the test commands that ``piece`` runs.

        ``piece`` is one simple command, run in ``folder``. It may run tests through up to ``depth`` nested scripts,
        targets or sessions.
        """
        left_out: list[str] = []
        env: dict[str, str] = {}
        piece = _LED_BY.sub("", piece)
        while match := _SET.match(piece):
            lost: list[str] = []
            for name, _, value in (word.partition("=") for word in _split(self._expand(match[1], lost))):
                if lost:  # the variable may be a path of CI's machine, such as $HOME/bin:$PATH
                    left_out.append(f"the variable `{name[:60]}`: {lost[0]}")
                else:
                    env[name] = value
            piece = piece[match.end() :]
        words = split_module_flag([word for word in _split(self._expand(piece, left_out)) if word])
        if not words or words[0] == "echo" or words[0].startswith("#"):
            return []
        here = TestCommand(tuple(words), True, folder, env, left_out=tuple(left_out))
        match = _RUNNER.search(" ".join(words))
        if match is not None:
            led_by = " ".join(words)[: match.start()].split()
            idle = not set(_ABSENT).isdisjoint(led_by) or words[-1] in {"--version", "--help"}
            idle = idle or "--no-run" in words  # Cargo only compiles, which is set-up (see `prefetch`)
            return [] if idle or (match["jvm"] and not _builds(words)) else [_tests_alone(here)]
        session = _session_index(words)
        texts = indirect_texts(self.tree, words, session, folder, self.python, self.env)
        for text, where, place in texts if depth else ():
            found = self.tests_in(text, where, depth - 1)
            if found:
                return [_within(one, env, place, left_out) for one in found]
        is_test = session >= 0 or any(re.search(r"(?i)(?:^|[\W_])tests?(?:$|[\W_])", word) for word in words[:2])
        return [replace(here, known=False)] if is_test and set(_ABSENT).isdisjoint(words) else []

    def _expand(self, text: str, left_out: list[str]) -> str:
        """Return ``text`` with its variables replaced by their values.

        An unknown variable becomes empty, and ``left_out`` gets a note on it.
        """
        known = {"VIRTUAL_ENV": VENV, **self.env}

        def value(match: re.Match[str]) -> str:
            name = match[2] or match[4]
            if match[0].startswith("'"):
                return match[0]
            if name in known:
                return known[name]
            if match[3] is None and not (name or "").isdigit() and name not in {"@", "*"}:
                left_out.append(f"`{shorten(match[0])}` has no value here")
            return match[3] or ""

        return _VARIABLE.sub(value, text)


def prefetch(command: TestCommand, tree: Tree) -> list[str]:
    """Return set-up commands that load dependencies for offline tests.

    Go, Cargo, Maven, Gradle and ``uv run`` would otherwise load and compile them only when tests run. Other tools need
    none.
    """
    words = list(command.words)
    if words[:2] == ["uv", "run"]:
        ends = (end for end in range(len(words) + 1) if _RUNNER.search(" ".join(words[:end])))
        return [shlex.join([*words[:end], "--help"]) for end in islice(ends, 1)]
    end = words.index("test") + 1 if "test" in words else 0
    if end and words[end - 2] == "go":
        compiled = [word for last, word in pairwise(["", *words[end:]]) if _COMPILES.match(word) or last == "-tags"]
        listed = [*_LIST.split(), *compiled, "-f", _DEPENDENCIES, "./..."]
        return [_DOWNLOAD, f"{shlex.join(listed)} | xargs -r {shlex.join(['go', 'build', *compiled])}"]
    if end and "cargo" in words[:end]:
        options = words[end : words.index("--") if "--" in words else None]
        return [shlex.join([*words[:end], "--no-run", *options])]
    program = words[0].rpartition("/")[2]
    if program in {"mvn", "mvnw", "gradle", "gradlew"}:
        one = _java_test(tree, command.folder)
        maven = program.startswith("mvn")
        only = [f"-Dtest={one}", "-Dsurefire.failIfNoSpecifiedTests=false"] if maven else ["--tests", one]
        return [shlex.join([*words, *(only if one else [])])]
    return []


def holds_only_dependencies(recipe: Recipe) -> bool:
    """Return whether set-up only loads and compiles Go dependencies."""
    return bool(recipe.setup) and all(line.startswith((_DOWNLOAD, f"{_LIST} ")) for line in recipe.setup)


def _java_test(tree: Tree, folder: str) -> str:
    """Return the smallest Java test's class, like ``CartTest``, or ""."""
    # Maven and Gradle load their test provider only when a test runs.
    found = [
        (len(file.data), path)
        for path, file in tree.items()
        if path.startswith(f"{folder}/" if folder else "") and re.search(r"(?:^|/)src/test/java/.*Test\.java$", path)
    ]
    return posixpath.basename(min(found)[1]).removesuffix(".java") if found else ""


def _session_index(words: list[str]) -> int:
    found = next((index for index, word in enumerate(words) if word in {"tox", "nox"}), -1)
    led_by = words[: max(found, 0)]
    return found if not led_by or (led_by[0] in _LAUNCHERS and set(_ABSENT).isdisjoint(led_by)) else -1


def _builds(words: list[str]) -> bool:
    """Return whether a Maven or Gradle command runs tests."""
    # Without a goal, the tools run the build's default goal, which may run tests.
    goals = [word for word in words[1:] if not word.startswith("-")]
    skipped = any(word.startswith(("-DskipTests", "-Dmaven.test.skip")) for word in words) or "-x test" in " ".join(
        words
    )
    return not skipped and (not goals or any(_JVM.search(goal) for goal in goals))


def _within(command: TestCommand, env: Mapping[str, str], place: str, left_out: Sequence[str]) -> TestCommand:
    """Return ``command`` with facts about the command that runs it.

    ``env`` are the outer command's variables, ``left_out`` its notes, and ``place`` is the file that has ``command``.
    If ``command`` has variables or a place already, they take precedence. If ``place`` is a package.json, the commands
    before ``command`` also find programs in ``node_modules/.bin``.
    """
    before = command.before
    if before and "package.json" in place:
        before = f'export PATH="$PWD/node_modules/.bin:$PATH"\n{before}'
    env, place = {**env, **command.env}, command.place or place
    return replace(command, env=env, place=place, before=before, left_out=(*left_out, *command.left_out))


def _tests_alone(command: TestCommand) -> TestCommand:
    """Return ``command`` without coverage and without other build goals."""
    words = list(command.words)
    program = words[0].rpartition("/")[2]
    start = next((index for index, word in enumerate(words) if word.rpartition("/")[2] == "coverage"), -1)
    if start >= 0 and words[start + 1 : start + 2] == ["run"]:
        ends = (index for index in range(start, len(words)) if re.fullmatch(r"-m|[^-].*\.py", words[index]))
        led_by = words[: start - 1] if words[start - 1] == "-m" else [*words[:start], "python"]
        words = [*led_by, *words[next(ends, start) :]]
    if program in {"mvn", "mvnw", "gradle", "gradlew"}:
        valued = {"-P", "-pl", "-f", "-s", "-T", "-p", "-b", "--projects", "--file", "--activate-profiles"}
        words = [words[0], *(word for last, word in pairwise(words) if word[0] == "-" or last in valued), "test"]
    if words == list(command.words):
        return command
    clause = f"`{shorten(shlex.join(command.words))}` is rewritten: tests alone are run"
    return replace(command, words=tuple(words), left_out=(*command.left_out, clause), rewritten=True)


def _pieces(line: str) -> list[str]:
    """Return a line's commands, split at ``&&``, ``;`` and pipes.

    The brackets around a subshell are returned as commands.
    """
    found = [""]
    for part in _PIECE.findall(line):
        if part in {"&&", "||", ";", "|", "&"}:
            found.append("")
        else:
            found[-1] += part
    pieces: list[str] = []
    for piece in filter(None, map(str.strip, found)):
        inner = piece.lstrip("( ")
        opened = piece.removesuffix(inner).count("(")
        closed = max(0, inner.count(")") - inner.count("("))
        rest = re.sub(rf"\){{{closed}}}(?=\s*(?:\S?>.*)?$)", "", inner, count=1)
        pieces += filter(None, [*("(" * opened), rest.strip(), *(")" * (len(inner) - len(rest)))])
    return pieces


def _split(piece: str) -> list[str]:
    """Return a command's words without redirections, [] if malformed."""
    try:
        return shlex.split(re.sub(r"(?<!\S)(?:\d|&)?>{1,2}(?:&\d|\s*\S+)", " ", piece), comments=piece.startswith("#"))
    except ValueError:
        return []
