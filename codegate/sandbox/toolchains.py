"""Find this machine's interpreters and toolchains, by running them."""

import json
import os
import platform
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from sysconfig import get_python_version
from typing import Final

from codegate.host_program import run_program
from codegate.sandbox.contract import NotInstalled, Toolchain
from codegate.sandbox.tools import uv_program

_SECONDS: Final = 20.0
_VERSION: Final = re.compile(r"\d+(?:\.\d+)*(?:-[0-9A-Za-z.]+)?")


_ASK_PYTHON: Final = (
    "import json,platform,sys;"
    "print(json.dumps([platform.python_version(), getattr(sys,'_base_executable',sys.executable), sys.base_prefix]))"
)


@dataclass(frozen=True)
class Interpreter:
    """A Python interpreter of this machine, outside any virtual environment.

    Attributes:
        executable: the interpreter's real path.
        prefix: the folder that holds the interpreter's library.
    """

    executable: Path
    prefix: Path


@dataclass(frozen=True)
class MachineToolchain:
    """A toolchain of this machine.

    Sandboxes see it read-only, at the same path.

    Attributes:
        name: see ``Toolchain``.
        version: the tool's own, in full.
        folder: the folder with all of its files.
        programs: the folder to add to ``PATH``.
        extra: files outside ``folder`` that it reads.
        variables: further variables that locate it.
    """

    name: str
    version: str
    folder: Path
    programs: Path
    extra: tuple[Path, ...] = ()
    variables: tuple[tuple[str, str], ...] = ()

    @property
    def outside_usr(self) -> tuple[Path, ...]:
        """Return the folders outside ``/usr`` that a sandbox needs."""
        own = () if self.folder.is_relative_to("/usr") else (self.folder,)
        return (*own, *self.extra)


@cache
def find_interpreter(minor: str) -> Interpreter | None:
    """Return an installed Python of version ``minor`` (``3.11``), or None."""
    for version, executable, prefix in filter(None, map(_ask_python, _python_candidates(minor))):
        if version.startswith(f"{minor}."):
            return Interpreter(executable, prefix)
    return None


def find_toolchain(wanted: Toolchain) -> MachineToolchain | None:
    """Return the newest installed toolchain that fits ``wanted``, or None.

    The wanted version can be just the first parts of a version (``3.13``, ``22``). With an empty version, the first
    toolchain on ``PATH`` is returned.
    """
    found = (one for one in _installed(wanted) if version_fits(one.version, wanted.version))
    return max(found, key=lambda one: _order(one.version), default=None) if wanted.version else next(found, None)


def machine_toolchains(wanted: Iterable[Toolchain]) -> tuple[MachineToolchain, ...]:
    """Return the wanted toolchains, and one of each other kind.

    For a kind that is not wanted, this is the first toolchain on ``PATH``, if there is one.

    Raises:
        NotInstalled: a wanted one is not on this machine.
    """
    asked = tuple(wanted)
    found = []
    for one in asked:
        there = find_toolchain(one)
        if there is None:
            name = f"{one.name} {one.version}".rstrip()
            raise NotInstalled(
                _missing(one),
                f"Install {name}, change `tools` of `environment:` in codegate.yml, or use Docker: --sandbox docker.",
            )
        found.append(there)
    named = {one.name for one in asked}
    others = (find_toolchain(Toolchain(name, "")) for name in _KINDS if name not in named)
    return (*found, *(one for one in others if one is not None))


def toolchain_variables(found: Iterable[MachineToolchain]) -> dict[str, str]:
    """Return the variables that locate toolchains, ``PATH`` among them."""
    toolchains = tuple(found)
    usual = ("/usr/local/bin", "/usr/bin", "/bin")
    places = dict.fromkeys(str(one.programs) for one in toolchains if str(one.programs) not in usual)
    return {"PATH": ":".join((*places, *usual)), **dict(pair for one in toolchains for pair in one.variables)}


def check_system(packages: Iterable[str]) -> None:
    """Raise NotInstalled for missing system packages, if dpkg can tell."""
    names = sorted(packages)
    if not names or shutil.which("dpkg-query") is None:
        return
    text = _printed(["dpkg-query", "-W", "-f", "${Package} ${db:Status-Status}\\n", *names])
    there = {line.split()[0] for line in text.splitlines() if line.endswith(" installed")}
    if missing := [name for name in names if name not in there]:
        raise NotInstalled(
            f"this machine does not have the system's packages {', '.join(missing)}, which the recipe names.",
            f"Install them (`apt-get install {' '.join(missing)}`), or use Docker: --sandbox docker.",
        )


def version_fits(version: str, wanted: str) -> bool:
    """Return whether ``version`` begins with ``wanted``, part by part.

    3.13.0 fits 3.13, and 3.130 does not. Any version fits ``lts``.
    """
    if wanted in {"stable", "nightly", "beta"}:
        return wanted == (version.partition("-")[2].partition(".")[0] or "stable")
    precise = tuple(f"{wanted}{mark}" for mark in ".-+")
    return not wanted[:1].isdigit() or version == wanted or version.startswith(precise)


def _order(version: str) -> list[int]:
    return [int(part) for part in re.findall(r"\d+", version.partition("-")[0])]


def _missing(wanted: Toolchain) -> str:
    others = sorted({one.version for one in _installed(wanted)}, key=_order)
    return f"this machine has no {wanted.name} {wanted.version}" + (
        f" (it has {', '.join(others)})." if others else "."
    )


def _installed(wanted: Toolchain) -> Iterator[MachineToolchain]:
    kind = wanted.name
    places = _pythons(wanted.version) if kind == "python" else _on_path(_PROGRAMS.get(kind, kind))
    for place in (*places, *_elsewhere(_PLACES.get(kind, ()))):
        found = _ask(kind, place)
        if found is not None:
            yield found


@cache
def _ask(kind: str, program: Path) -> MachineToolchain | None:
    return _KINDS[kind](program) if kind in _KINDS else _of_unknown_kind(kind, program)


def _on_path(program: str) -> list[Path]:
    found = (shutil.which(program, path=folder) for folder in os.get_exec_path())
    return [Path(place) for place in dict.fromkeys(found) if place]


def _elsewhere(patterns: Iterable[str]) -> Iterator[Path]:
    """Yield the programs outside ``PATH`` that match the patterns.

    A pattern begins at the home folder (``~``), the tool cache (``RUNNER``) or ``/``.
    """
    cache_of_runner = os.environ.get("RUNNER_TOOL_CACHE") or "/opt/hostedtoolcache"
    for pattern in patterns:
        first, _, rest = pattern.partition("/")
        root = {"~": Path.home(), "RUNNER": Path(cache_of_runner), "": Path("/")}[first]
        yield from sorted(path for path in root.glob(rest) if path.is_file())


def _printed(argv: list[str]) -> str:
    """Run a program; return stdout and stderr, "" on failure."""
    environment = {"PATH": os.environ.get("PATH", os.defpath), "HOME": str(Path.home()), "LC_ALL": "C.UTF-8"}
    try:
        done = run_program(argv, env={**environment, "GOTOOLCHAIN": "local"}, seconds=_SECONDS)
    except (OSError, subprocess.SubprocessError):
        return ""
    return (done.stdout + done.stderr).decode("utf-8", "replace")


def _python_candidates(minor: str) -> Iterator[Path]:
    if get_python_version() == minor:
        yield Path(getattr(sys, "_base_executable", sys.executable))
    yield from _on_path(f"python{minor}")
    uv = str(uv_program(platform.machine()))
    found = _printed([uv, "python", "find", "--no-config", "--no-python-downloads", "--system", minor])
    yield Path(found.partition("\n")[0])


def _ask_python(program: Path) -> tuple[str, Path, Path] | None:
    """Return a Python's full version, executable and prefix, or None."""
    try:
        version, base, prefix = json.loads(_printed([str(program), "-I", "-S", "-c", _ASK_PYTHON]).partition("\n")[0])
        return str(version), Path(base).resolve(), Path(prefix).resolve()
    except (ValueError, TypeError):  # the output is not that of a Python
        return None


def _pythons(version: str) -> list[Path]:
    found = find_interpreter(".".join(version.split(".")[:2]) or get_python_version())
    return [] if found is None else [found.executable]


def _python(program: Path) -> MachineToolchain | None:
    found = _ask_python(program)
    return None if found is None else MachineToolchain("python", found[0], found[2], program.parent)


def _go(program: Path) -> MachineToolchain | None:
    lines = _printed([str(program), "env", "GOROOT", "GOVERSION"]).split()
    if len(lines) != 2 or not lines[1].startswith("go"):
        return None
    return MachineToolchain("go", lines[1].removeprefix("go"), Path(lines[0]), Path(lines[0], "bin"))


def _node(program: Path) -> MachineToolchain | None:
    lines = _printed([str(program), "-p", "process.versions.node + '\\n' + process.execPath"]).split()
    if len(lines) != 2:
        return None
    own = Path(lines[1])
    return MachineToolchain("node", lines[0], own.parent.parent, own.parent)


def _java(program: Path) -> MachineToolchain | None:
    said = _printed([str(program), "-XshowSettings:properties", "-version"])
    home, version = (re.search(rf"^ *{key} = (.+)$", said, re.MULTILINE) for key in ("java.home", "java.version"))
    if home is None or version is None:
        return None
    folder = Path(home[1])
    number = version[1].removeprefix("1.").replace("_", ".")
    links = (path.resolve() for path in (*folder.glob("*"), *folder.glob("lib/*")) if path.is_symlink())
    extra = sorted({Path("/etc", path.parts[2]) for path in links if path.is_relative_to("/etc")})
    return MachineToolchain("java", number, folder, folder / "bin", tuple(extra), (("JAVA_HOME", str(folder)),))


def _maven(program: Path) -> MachineToolchain | None:
    said = _printed([str(program), "-v"])
    version, home = re.search(r"Apache Maven ([\w.-]+)", said), re.search(r"^Maven home: (.+)$", said, re.MULTILINE)
    if version is None or home is None:
        return None
    folder = Path(home[1])
    extra = tuple(path for path in (Path("/etc/maven"),) if folder.is_relative_to("/usr") and path.is_dir())
    return MachineToolchain("maven", version[1], folder, program.parent, extra)


def _rust(program: Path) -> MachineToolchain | None:
    folder = Path(_printed([str(program), "--print", "sysroot"]).strip() or "/nonexistent")
    said = _printed([str(folder / "bin" / "rustc"), "--version"]).split()
    if len(said) < 2 or said[0] != "rustc":
        return None
    return MachineToolchain("rust", said[1], folder, folder / "bin")


def _of_unknown_kind(name: str, program: Path) -> MachineToolchain | None:
    """Return a toolchain of a kind that ``_KINDS`` lacks.

    None if the program shows no version, or is outside ``/usr``: a sandbox may lack files that it needs.
    """
    version = _VERSION.search(_printed([str(program), "--version"]))
    own = program.resolve()
    if version is None or not own.is_relative_to("/usr"):
        return None
    return MachineToolchain(name, version[0], own.parent, program.parent)


_KINDS: Final[dict[str, Callable[[Path], MachineToolchain | None]]] = {
    "python": _python,
    "go": _go,
    "node": _node,
    "java": _java,
    "maven": _maven,
    "rust": _rust,
}
_PROGRAMS: Final = {"maven": "mvn", "rust": "rustc"}
_PLACES: Final = {
    "go": (
        "/usr/local/go*/bin/go", "~/sdk/*/bin/go", "~/go/pkg/mod/golang.org/toolchain@*/bin/go", "RUNNER/go/*/*/bin/go",
    ),
    "python": ("~/.pyenv/versions/*/bin/python3", "RUNNER/Python/*/*/bin/python3"),
    "node": ("~/.nvm/versions/node/*/bin/node", "RUNNER/node/*/*/bin/node"),
    "java": ("/usr/lib/jvm/*/bin/java", "RUNNER/Java_*/*/*/bin/java"),
    "rust": ("~/.rustup/toolchains/*/bin/rustc",),
}  # fmt: skip
