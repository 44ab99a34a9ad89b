"""Run a project's set-up once, and freeze the result."""

import logging
import posixpath
import re
import shlex
import time
from collections.abc import Iterator, Mapping
from datetime import date
from typing import Final

from codegate.durable import digest
from codegate.environments.inputs import LIMITS, BuildBase, base_of, inputs_of, needed_toolchains, without_package
from codegate.environments.proxy import BuildProxy
from codegate.environments.recipe import Recipe
from codegate.environments.scripts import (
    CLEAN_UP,
    COMPILE_PYTHON,
    GIVEN,
    LIST_INSTALLED,
    LIST_NON_EDITABLE,
    WHEEL_PROGRAMS,
    bring_toolchains,
    helper_files,
    limit_setuptools,
    make_python,
    move_helper_files,
)
from codegate.environments.secrets import check_archive, redactor_of, secret_values
from codegate.environments.services import DATA, servers_of, with_servers
from codegate.environments.store import Built, LayerFile, TreeOrigin, build_lock, find_built, new_archive, store_built
from codegate.environments.variables import (
    CONSTRAINTS,
    PROXY_PORT,
    UV_CONFIGURATION,
    VENV,
    index_addresses,
    index_variables,
    path_variable,
    set_up_variables,
    test_variables,
    version_variables,
)
from codegate.sandbox import Backend, Command, Completed, Layer, SandboxError, SandboxFile
from codegate.sandbox.relay import Relay
from codegate.strict import printable
from codegate.suite import Tree

_LOG: Final = logging.getLogger(__name__)
_DATES: Final = frozenset({"PIP_UPLOADED_PRIOR_TO", "UV_EXCLUDE_NEWER", "npm_config_before"})
"""Variables that make installers leave out later releases. A mirror of an index may lack the releases' dates."""
_SETUPTOOLS: Final = "2022-12-31"
"""The last setuptools released by this day builds editable installs and still reads older metadata (``>=3.5.*``)."""
_OUTPUT_BYTES: Final = 16 << 20
_LAST_LINES: Final = 15
_FEW_LINES: Final = 3
_LINE: Final = 300
_NOT_THERE: Final = (126, 127)
"""Exit codes of a command whose program is not there."""
_COLOUR: Final = re.compile(r"\x1b\[[0-9;]*[A-Za-z]")
# Installers' messages that name the package that failed.
_PACKAGES: Final = re.compile(
    r"Failed (?:to build|to download and build|building wheel for|to download|to fetch)(?: installable wheels.*?\()?"
    r"[:\s`'\"]+(?!file:)(?P<pip>[\w.-]+)"
    r"|No matching distribution found for (?P<none>[\w.-]+)|Because (?P<uv>[\w.-]+) was not found"
    r"|metadata\.\s+╰─> (?P<metadata>[\w.-]+)|(?:build command for|could not compile) `(?P<cargo>[\w-]+)"
    r"|npm (?:error|ERR!) (?:path \S*/node_modules/|404\s+')(?P<npm>(?:@[\w.-]+/)?[\w.-]+)|^go: (?P<go>[\w./-]+)@v",
    re.MULTILINE,
)


class BuildFailed(SandboxError):
    """A project's set-up failed.

    Attributes:
        step: the command that failed.
        ended: how the command ended, such as its exit status.
        package: the package that the command could not install or build; empty if its output names none.
        lines: the last lines that the command printed.
        unreachable: whether a package index could not be reached.
    """

    def __init__(
        self,
        step: str,
        ended: str,
        package: str,
        lines: tuple[str, ...],
        remedy: str,
        *,
        unreachable: bool = False,
    ) -> None:
        self.step, self.ended, self.package, self.lines = step, ended, package, lines
        self.unreachable = unreachable
        first = f"{package} cannot be installed: " if package else ""
        printed = "".join(f"\n  {line}" for line in lines)
        super().__init__(f"{first}`{step}` {ended}; it printed last:{printed or ' nothing.'}\n", remedy)


def obtain_build(
    recipe: Recipe,
    tree: Tree,
    backend: Backend,
    *,
    day: date,
    nearest: Layer | None = None,
    resolved: str | None = None,
    found: bool = False,
) -> Built:
    """Return a recipe's recorded build, cached or new.

    Args:
        recipe: how the project is set up.
        tree: a tree without hidden tests, because the build may hold compiled code of it.
        backend: the sandboxes to build in.
        day: the tree's day. Without a lock file, package indexes answer as they did at the end of this day.
        nearest: an earlier build on which set-up runs first. If it fails there, it runs again without this build.
        resolved: versions to install again, if the tool supports that; ``Built.resolved`` of an earlier build.
        found: whether codegate proposed the recipe. Commands that fail are then left out, because a step of CI may
            check or publish something.

    Raises:
        BuildFailed: set-up failed.
        SandboxError: the sandbox failed, or the built archive holds a secret.
        NotInstalled: a toolchain or a system package is missing.
        UsageError: a secret's variable is not set.
    """
    inputs = inputs_of(recipe, tree, backend)
    with build_lock(inputs):
        origin = TreeOrigin(day, tree.digest())
        there = find_built(inputs, origin.tree, resolved, found=found)
        if there is not None:
            return there
        build = _Builder(recipe, tree, backend, origin, inputs, resolved, found)
        if nearest is not None:
            try:
                return build.record(nearest)
            except BuildFailed as error:
                _LOG.info("set-up failed on the nearest build, and begins with nothing: %s", error)
        try:
            return build.record(None)
        except BuildFailed as error:
            why = error.cause.partition("; it printed")[0]
            rest = without_package(tree, error.package)
            if rest is None:
                raise
            note = f"{error.package} is left out: {why}. Tests that need it fail."
            _LOG.info("%s", note)
            try:
                return _Builder(recipe, rest, backend, origin, inputs, resolved, found, note).record(None)
            except BuildFailed as again:
                _LOG.info("%s", again)
            raise


class _Builder:
    """Builds one environment, once for each call of ``record``."""

    def __init__(
        self,
        recipe: Recipe,
        tree: Tree,
        backend: Backend,
        origin: TreeOrigin,
        inputs: str,
        resolved: str | None,
        found: bool,
        note: str = "",
    ) -> None:
        self._recipe, self._tree, self._backend, self._origin = recipe, tree, backend, origin
        self._inputs = self._asked = inputs
        self._resolved, self._found, self._note = resolved, found, note
        self._base: BuildBase = base_of(recipe, tree, backend)
        self._secrets = secret_values(recipe)
        self._redactor = redactor_of(self._secrets)
        self._python = "python" in needed_toolchains(recipe, tree)
        self._servers = servers_of(recipe)
        inherited = ":".join((*(WHEEL_PROGRAMS if self._base.lacking else ()), self._base.path))
        path = path_variable(inherited)
        indexes = index_variables(self._secrets)
        python = self._base.versions.get("python", "") if self._python else None
        self._set_up = set_up_variables(recipe, path, tuple(tree), origin.day, indexes, python) | {
            name: value for name, value in self._secrets.items() if name not in indexes
        }
        if "git" not in self._base.programs and (file := tree.get(posixpath.join(recipe.folder, "pyproject.toml"))):
            self._set_up = version_variables(file.data) | self._set_up
        if self._pinned:
            self._set_up |= {"UV_CONSTRAINT": CONSTRAINTS, "PIP_CONSTRAINT": CONSTRAINTS}
        self._tests = test_variables(recipe, path, python=self._python)
        self._addresses = index_addresses(indexes)

    def record(self, nearest: Layer | None) -> Built:
        """Run set-up on top of ``nearest``; return the frozen result."""
        began = time.monotonic()
        self._proxy = BuildProxy(self._recipe.hosts, self._addresses)
        self._notes = [self._note] if self._note else []
        self._steps: list[tuple[str, float]] = []
        self._sandbox = self._base.open(self._backend, nearest)
        self._ends = began + LIMITS.lifetime_seconds
        try:
            self._prepare()
            self._run_steps(fresh=nearest is None)
            resolved = self._installed_versions()
            self._run_or_raise("clean up", CLEAN_UP, self._tests)
            with new_archive() as archive:
                sha256 = self._sandbox.freeze(tuple(self._tree), archive)
                check_archive(archive, self._secrets)
                return store_built(archive, self._described(sha256, resolved, time.monotonic() - began))
        finally:
            self._sandbox.close()

    def _prepare(self) -> None:
        """Put tree, helper files and toolchains into the build sandbox."""
        files = [SandboxFile(path, file.data, file.mode) for path, file in self._tree.items()]
        given = helper_files(self._resolved if self._pinned else None)
        put = tuple(file for file in files if not file.leads_out)
        self._sandbox.put((*put, *(SandboxFile(f"{GIVEN}/{name}", data) for name, data in given.items())))
        names = b"".join(file.path.encode("utf-8", "surrogateescape") + b"\0" for file in put)
        self._run_or_raise(
            "put the tree",
            move_helper_files(given, self._origin.day, git="git" in self._base.programs),
            self._tests,
            names,
        )
        undated = {name: value for name, value in self._undated().items() if name != "UV_FROZEN"}
        if self._base.lacking:
            self._run_or_raise("install toolchains", bring_toolchains(self._base.lacking), undated)
        if self._python:
            # Tests of older code may import pkg_resources, which later releases of setuptools lack.
            dated = "UV_EXCLUDE_NEWER" in self._set_up.keys() - undated.keys()
            seeded = max(self._origin.day, date.fromisoformat(_SETUPTOOLS)).isoformat() if dated else ""
            script = make_python(self._recipe.folder, self._recipe.tools.get("python", ""), seeded)
            self._run_or_raise(f"uv venv {VENV}", script, undated)
        for server in self._servers:
            if server.prepare:
                self._run_or_raise(
                    f"prepare {server.name}", f"rm -rf {DATA}/{server.name}\n{server.prepare}", self._tests
                )

    def _undated(self) -> dict[str, str]:
        ours = _DATES - self._recipe.env.keys()
        return {name: value for name, value in self._set_up.items() if name not in ours}

    def _later_packages(self) -> Iterator[tuple[str, str, Mapping[str, str]]]:
        """Yield ways to repeat a set-up command with later packages.

        Each is a description, a script to run before the command, and the command's variables.
        """
        if self._python and "UV_EXCLUDE_NEWER" in self._set_up:
            script = f"{limit_setuptools(_SETUPTOOLS)}\n"
            yield f"setuptools of {_SETUPTOOLS}", script, {**self._set_up, "UV_CONFIG_FILE": UV_CONFIGURATION}
        yield "today's", "", self._undated()

    def _newer_may_help(self, done: Completed) -> bool:
        """Return whether a step may succeed with packages released later.

        It may if codegate chose a day for the packages, and no limit or unreachable index made the step fail.
        """
        by_itself = done.exit_code is not None and not (done.timed_out or done.memory_exceeded)
        chosen = self._set_up.keys() - self._undated().keys()
        node = any(posixpath.basename(path) == "package.json" for path in self._tree)
        dated = (self._python and "UV_EXCLUDE_NEWER" in chosen) or (node and "npm_config_before" in chosen)
        return by_itself and dated and not self._proxy.unreachable

    @property
    def _pinned(self) -> bool:
        """Return whether set-up must install the earlier build's versions."""
        # With uv's lock file, set-up does not choose versions.
        return self._resolved is not None and "UV_FROZEN" not in self._set_up

    def _run_steps(self, *, fresh: bool) -> None:
        """Run the set-up commands while the recipe's servers run.

        ``fresh`` says that set-up does not run on an earlier build.
        """
        failures: list[BuildFailed] = []
        kept: list[str] = []
        for line in self._recipe.setup:
            began, name = time.monotonic(), printable("; ".join(filter(None, map(str.strip, line.splitlines()))), 80)
            _LOG.info("set-up: %s", name)
            script = f"{_enter(self._recipe.folder)}exec 2>&1\n{line}"
            done = self._run(script, self._set_up, step=True)
            failure = None if done.ok else self._failure(line, done)
            may_be_left_out = self._found and fresh  # a failure on an earlier build starts a fresh build
            if failure is not None and fresh and self._newer_may_help(done):
                words = f"`{failure.step}` {failure.ended} with the packages of {self._origin.day}"
                for what, before, variables in self._later_packages():
                    if self._run(f"{before}{script}", variables, step=True).ok:
                        self._notes.append(f"{words}; it was run again with {what}")
                        failure = None
                        break
            self._steps.append((line, round(time.monotonic() - began, 1)))
            last = f": {printable(failure.lines[-1])}" if failure is not None and failure.lines else ""
            how = "failed after" if failure else "done in"
            _LOG.info("set-up: %s: %s %.1f s%s", name, how, self._steps[-1][1], last)
            if failure is None:
                kept.append(line)
                continue
            failures.append(failure)
            if not may_be_left_out or without_package(self._tree, failure.package) is not None:
                raise failure
        if failures and not kept:
            raise failures[0]
        if failures:
            self._recipe = self._recipe.model_copy(update={"setup": tuple(kept)})
            self._inputs = inputs_of(self._recipe, self._tree, self._backend)
        self._notes += [
            f"left out `{failure.step}`: it {failure.ended}; it printed last: "
            f"{' '.join(failure.lines[-_FEW_LINES:]) or 'nothing'}"
            for failure in failures
        ]

    def _installed_versions(self) -> str:
        """Return the listing of installed packages and their versions.

        For Python, also compile the packages, and note which of the project's packages are not installed as editable.
        """
        listed = self._run(f"{_enter(self._recipe.folder)}{LIST_INSTALLED}", self._tests)
        if self._python:
            copies = self._run(LIST_NON_EDITABLE, self._tests).stdout.decode("utf-8", "replace").split()
            self._notes += [
                f"{printable(name, 100)} is installed as a copy: tests would not see changes of the tree. "
                "Install it with `-e`."
                for name in copies
            ]
            self._run(COMPILE_PYTHON, self._tests)
        return self._redactor.redact_whole(listed.stdout.decode("utf-8", "replace"))

    def _described(self, sha256: str, resolved: str, seconds: float) -> LayerFile:
        lacking = {one.name for one in self._base.lacking}
        return LayerFile(
            sha256=sha256,
            inputs=self._inputs,
            asked=self._asked,
            day=self._origin.day,
            tree=self._origin.tree,
            rebuilt=digest(self._resolved) if self._resolved is not None else None,
            recipe=self._recipe,
            resolved=resolved,
            variables=self._tests,
            python=f"{VENV}/bin/python" if self._python else "",
            interpreter=self._base.environment.python,
            image=self._base.environment.image,
            toolchains={name: version for name, version in self._base.versions.items() if name not in lacking},
            seconds=round(seconds, 1),
            steps=tuple(self._steps),
            hosts=dict(sorted(self._proxy.received.items())),
            notes=tuple(self._notes),
        )

    def _run_or_raise(self, step: str, script: str, variables: Mapping[str, str], stdin: bytes = b"") -> None:
        done = self._run(f"exec 2>&1\n{script}", variables, stdin=stdin)
        if not done.ok:
            raise self._failure(step, done)

    def _run(self, script: str, variables: Mapping[str, str], *, step: bool = False, stdin: bytes = b"") -> Completed:
        shell = ("bash", "-e", "-o", "pipefail") if step and "bash" in self._base.programs else ("/bin/sh", "-e")
        relay = Relay({PROXY_PORT: self._proxy.answer})
        try:
            command = Command(
                (*shell, "-c", script),
                stdin=stdin,
                environment=variables,
                timeout_seconds=max(1.0, self._ends - time.monotonic()),
                output_bytes=_OUTPUT_BYTES,
                relay=relay,
            )
            return self._sandbox.run(with_servers(command, self._servers) if step else command)
        finally:
            relay.close()

    def _failure(self, step: str, done: Completed) -> BuildFailed:
        text = _COLOUR.sub("", (done.stdout + done.stderr).decode("utf-8", "replace").replace("\r", "\n"))
        lines = [line.rstrip() for line in self._redactor.redact_whole(text).split("\n") if line.strip()]
        named = _PACKAGES.search(text)
        package = next(filter(None, named.groups()), "") if named is not None else ""
        if done.timed_out:
            ended = f"did not end within {LIMITS.lifetime_seconds / 60:.0f} minutes"
        elif done.memory_exceeded:
            ended = f"needed more than {LIMITS.memory_bytes >> 30} GiB of memory"
        else:
            ended = "failed" + (f" with exit code {done.exit_code}" if done.exit_code is not None else "")
        _LOG.debug("set-up: it printed: %s", "".join(f"\n  {printable(line, _LINE)}" for line in lines) or "nothing")
        last = tuple(self._redactor.redact(printable(line, _LINE)) for line in lines[-_LAST_LINES:])
        return BuildFailed(
            printable(step, _LINE),
            ended,
            self._redactor.redact(package),
            last,
            self._remedy(done),
            unreachable=bool(self._proxy.unreachable),
        )

    def _remedy(self, done: Completed) -> str:
        if self._proxy.refused:
            hosts = ", ".join(printable(host, 100) for host in sorted(self._proxy.refused))
            return f"It asked for hosts that are no package index; to allow them: `hosts: [{hosts}]` in `environment:`."
        if self._proxy.unreachable:
            return (
                f"From this machine, {'; '.join(printable(why, 200) for why in sorted(self._proxy.unreachable)[:3])}."
            )
        if done.exit_code in _NOT_THERE:
            return (
                "A program is not there: let `setup` of `environment:` install it first (`pip install …`), "
                "or name what has it under `tools` (a language), `packages` (the system's) or `image`."
            )
        return "Change `setup`, `tools`, `packages` or `env` of `environment:`; -v shows all of its output."


def _enter(folder: str) -> str:
    return f"cd -- {shlex.quote(folder)}\n" if folder else ""
