"""Set-up and tests that lock files and manifests imply."""

import re
import shlex
from collections import Counter
from collections.abc import Iterator
from typing import Final

from codegate.suite import Subtree, Tree
from codegate.suite.declared import mapping, read_ini, read_toml, read_tree_json, read_tree_text, value_at

_TESTS: Final = {
    "python": re.compile(r"(?:^|/)(?:tests?(?:/.*)?|test_[^/]*|[^/]*_test)\.py$"),
    "go": re.compile(r"_test\.go$"),
    "javascript": re.compile(r"(?:(?:^|/)(?:__tests__|tests?)/.*|\.(?:test|spec))\.[cm]?[jt]sx?$"),
    "java": re.compile(r"(?:^|/)src/test/java/.*\.java$"),
    "rust": re.compile(r"(?:^|/)(?:tests|src)/.*\.rs$"),
}
#: Lock files of npm packages, and the command that installs from each.
NODE: Final = {
    "bun.lock": "bun install --frozen-lockfile", "bun.lockb": "bun install --frozen-lockfile",
    "pnpm-lock.yaml": "pnpm install --frozen-lockfile", "package-lock.json": "npm ci", "npm-shrinkwrap.json": "npm ci",
    "yarn.lock": "yarn install --frozen-lockfile",
}  # fmt: skip
_PYTHON: Final = {
    "uv.lock": ("uv sync --frozen --all-extras --all-groups",),
    "poetry.lock": ("pip install poetry", "poetry install --no-interaction --all-extras"),
    "pdm.lock": ("pip install pdm", "pdm install --frozen-lockfile -G :all"),
    "Pipfile.lock": ("pip install pipenv", "pipenv sync --dev"),
}
_SETTINGS: Final = {"pyproject.toml", "setup.cfg", "tox.ini", "pytest.ini", "setup.py", "requirements.txt", "uv.lock"}
_COMPILED: Final = {
    "go.mod": ("go", "go test ./..."),
    "Cargo.lock": ("rust", "cargo test --locked"),
    "Cargo.toml": ("rust", "cargo test"),
    "pom.xml": ("java", "mvn --batch-mode test"),
    "build.gradle": ("java", "gradle test"),
    "build.gradle.kts": ("java", "gradle test"),
}
_MANIFESTS: Final = {*_COMPILED, "pyproject.toml", "setup.py", "package.json"}
#: Packages of JavaScript's test runners, the most telling first: a project with vitest beside mocha or jest's types has
#: moved to vitest.
NODE_RUNNERS: Final = ("vitest", "jest", "mocha")
_OF_NODE: Final = re.compile(rb"""["']node:test["']""")
PYTEST: Final = "uv pip install pytest"
_FOR_TESTS: Final = re.compile(r"(?i)test|dev|ci$")


def implied_commands(tree: Tree, folder: str, *, light: bool = False) -> tuple[list[tuple[str, str]], str]:
    """Return the set-up and test commands that files imply.

    The files are the lock files and manifests of ``folder``. The first value has pairs of a set-up command and its
    file. It is empty for Go, Rust and Java, because their test commands load dependencies themselves. The second value
    has test commands, one a line; the first that starts a known runner is used. ``light``: of the optional
    dependencies, only those named for tests are installed.
    """
    inside = f"{folder}/" if folder else ""
    names = set(Subtree.of(tree, folder))  # with the lock of the workspace that the folder is in
    for language in languages_of(tree, folder):
        if language == "python" and (found := list(_python(tree, inside, names, light=light))):
            mentioned = any("pytest" in read_tree_text(tree, f"{inside}{name}") for name in names & _SETTINGS)
            return found, "python -m pytest" if mentioned or "manage.py" not in names else "python manage.py test"
        if language == "javascript" and (found := list(_javascript(tree, inside, names))):
            # The script may start the runner by a program of its own.
            by_node = any(_OF_NODE.search(tree[path].data) for path in tests_of(tree, folder))
            package = read_tree_json(tree, f"{inside}package.json")
            named = {*mapping(package.get("dependencies")), *mapping(package.get("devDependencies"))}
            others = [f"npx {name}" for name in NODE_RUNNERS if name in named]
            return found, "\n".join(["npm test", *(["node --test"] if by_node else []), *others])
        for manifest, (of, command) in _COMPILED.items():
            if manifest in names and of == language:
                wrapped = language == "java" and f"{command.split()[0]}w" in names
                return [], f"./{command.replace(' ', 'w ', 1)}" if wrapped else command
    return [], ""


def languages_of(tree: Tree, folder: str) -> list[str]:
    """Return the languages of tests below ``folder``, most frequent first."""
    return [name for name, _ in Counter(tests_of(tree, folder).values()).most_common()]


def tests_of(tree: Tree, folder: str) -> dict[str, str]:
    """Return the test files below ``folder``, each with its language."""
    inside = f"{folder}/" if folder else ""
    paths = [path for path in tree if path.startswith(inside) and "node_modules/" not in path]
    return {path: name for path in paths for name, like in _TESTS.items() if like.search(path)}


def project_parts(tree: Tree) -> dict[str, list[str]]:
    """Return up to 8 project folders, with their tests' languages."""
    folders = {path.rpartition("/")[0] for path in tree if path.rpartition("/")[2] in _MANIFESTS} - {""}
    found = {folder: languages_of(tree, folder) for folder in sorted(folders, key=lambda path: (path.count("/"), path))}
    return dict([(folder, names) for folder, names in found.items() if names][:8])


def _python(tree: Tree, inside: str, names: set[str], *, light: bool) -> Iterator[tuple[str, str]]:
    data = read_toml(tree, f"{inside}pyproject.toml")
    optional = value_at(data, "project", "optional-dependencies") or value_at(
        read_ini(tree, f"{inside}setup.cfg"), "options.extras_require"
    )
    extras = [name for name in mapping(optional) if _FOR_TESTS.search(name)]
    groups = [name for name in mapping(data.get("dependency-groups")) if _FOR_TESTS.search(name)]
    in_groups = [word for name in groups for word in ("--group", name)]
    for lock, commands in _PYTHON.items():
        if lock in names and lock == "uv.lock" and light and (extras or groups):
            in_extras = [word for name in extras for word in ("--extra", name)]
            yield shlex.join(["uv", "sync", "--frozen", *in_extras, *in_groups]), f"`{inside}{lock}`"
            return
        if lock in names:
            yield from ((command, f"`{inside}{lock}`") for command in commands)
            return
    files = sorted(name for name in names if re.fullmatch(r"[^/]*requirements[^/]*\.txt|requirements/[^/]+\.txt", name))
    wanted = [name for name in files if name == "requirements.txt" or _FOR_TESTS.search(name.removesuffix(".txt"))]
    for name in wanted:
        yield f"uv pip install -r {shlex.quote(name)}", f"`{inside}{name}`"
    if "setup.py" in names or "build-system" in data or "project" in data:
        project = f".[{','.join(extras)}]" if extras else "."
        yield (
            shlex.join(["uv", "pip", "install", "-e", project, *in_groups]),
            f"`{inside}{'pyproject.toml' if data else 'setup.py'}`",
        )
    yield PYTEST, "for the test runner"


def _javascript(tree: Tree, inside: str, names: set[str]) -> Iterator[tuple[str, str]]:
    if "package.json" not in names:
        return
    for lock, command in NODE.items():
        if lock in names:
            berry = lock == "yarn.lock" and "__metadata:" in read_tree_text(tree, f"{inside}{lock}", 8 << 20)
            yield command.replace("frozen-lockfile", "immutable") if berry else command, f"`{inside}{lock}`"
            return
    manager = str(read_tree_json(tree, f"{inside}package.json").get("packageManager") or "npm").partition("@")[0]
    yield f"{manager if manager in {'npm', 'pnpm', 'yarn', 'bun'} else 'npm'} install", f"`{inside}package.json`"
