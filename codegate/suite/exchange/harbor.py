"""Write Harbor's task folders (schema 1.4).

Terminal-Bench 2 uses this schema, and ``rows`` reads it. Layout, by Harbor's documentation: ``task.toml``,
``instruction.md``, ``environment/`` (the agent's image), ``tests/test.sh`` (run in the container as /tests after the
agent, writes /logs/verifier/reward.txt) and ``solution/solve.sh`` (run as /solution by the oracle). The environment's
recipe becomes a Dockerfile; the reward is 1 when every expected test passes by its id.
"""

import io
import json
import re
import shlex
import tarfile
from collections.abc import Mapping
from importlib import resources
from pathlib import Path
from sysconfig import get_python_version
from typing import Any, Final

from codegate.durable import write_atomic
from codegate.errors import InfrastructureError, UsageError
from codegate.suite.declared import mapping
from codegate.suite.loaded import RECIPE, Problem, Suite
from codegate.suite.patch import make_patch
from codegate.suite.reader import parse_yaml
from codegate.suite.tree import Changes, Tree

WORKSPACE: Final = "/workspace"
_AGENT_SECONDS: Final = 1800.0
_AROUND_TESTS: Final = 60.0
_LEAST_MEMORY_MB: Final = 2048
_NOT_IN_NAMES: Final = re.compile(r"[^A-Za-z0-9_-]+")

_DOCKERFILE: Final = """\
FROM {image}
ENV PYTHONDONTWRITEBYTECODE=1 PYTHONHASHSEED=0 TZ=UTC LC_ALL=C.UTF-8 VIRTUAL_ENV=/opt/env/venv
{packages}RUN PIP_BREAK_SYSTEM_PACKAGES=1 python3 -m pip install --no-cache-dir --disable-pip-version-check uv \\
    && uv venv --seed $VIRTUAL_ENV
ENV PATH=/opt/env/venv/bin:$PATH
ADD base.tar {workspace}/
WORKDIR {workspace}
COPY set-up.sh constraints.txt /opt/codegate/
RUN bash /opt/codegate/set-up.sh
"""
_PACKAGES: Final = """\
RUN apt-get update && apt-get install --yes --no-install-recommends {names} && rm -rf /var/lib/apt/lists/*
"""
_PLAIN: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9.+_:/@-]*")
_PIN: Final = re.compile(r"^[A-Za-z0-9][\w.-]*==\S+$", re.MULTILINE)
_NOT_HERE: Final = ("services", "before", "secrets", "report", "folder")
"""Keys of a recipe that a task folder cannot have."""
_TEST: Final = """\
#!/bin/bash
exec python3 -I -S /tests/codegate_verify.py
"""
_SOLVE: Final = """\
#!/bin/bash
set -eu
cd {workspace}
while IFS= read -r -d '' path; do
  rm -f -- "$path"
  rmdir -p --ignore-fail-on-non-empty -- "$(dirname -- "$path")"
done < /solution/deleted
tar -xf /solution/fix.tar
"""


def write_task(folder: Path, suite: Suite, problem: Problem, base: Tree, task: str) -> None:
    """Write ``problem`` as the new task folder ``folder``.

    ``task`` is the task's name in Harbor: ``owner/instance``.

    Raises:
        UsageError: the problem's tests need another runner than pytest, or a Dockerfile cannot make its environment.
    """
    environment = suite.environments[problem.environment.id]
    if problem.manifest.runner != "pytest":
        raise UsageError(f"its tests are run by {problem.manifest.runner}; task folders are written for pytest only.")
    if problem.manifest.folder:
        raise UsageError("its tests run in a folder of the repository; task folders are written for its root only.")
    recipe = mapping(parse_yaml(environment.recipe, RECIPE))
    if lacking := [key for key in _NOT_HERE if recipe.get(key)]:
        raise UsageError(f"its environment has {', '.join(lacking)}, which task folders lack.")
    expected = {
        "workspace": WORKSPACE,
        "python_path": problem.manifest.python_path,
        "files": problem.manifest.test_files,
        "deleted": [path for path, file in problem.hidden.items() if file is None],
        "expected": problem.tests.expected,
        "environment": recipe.get("env", {}),
    }
    deleted = b"".join(path.encode("utf-8") + b"\0" for path, file in problem.fix.items() if file is None)
    driver = resources.files("codegate.suite.exchange.drivers").joinpath("verify_driver.py").read_bytes()
    files = {
        "task.toml": _config(suite, problem, task).encode("utf-8"),
        "instruction.md": problem.statement.encode("utf-8"),
        "environment/Dockerfile": _dockerfile(recipe).encode("ascii"),
        "environment/set-up.sh": _set_up(recipe, base).encode("utf-8"),
        "environment/constraints.txt": "".join(f"{pin}\n" for pin in _PIN.findall(environment.resolved)).encode(
            "utf-8"
        ),
        "environment/base.tar": _archive(base),
        "tests/test.sh": _TEST.encode("ascii"),
        "tests/codegate_verify.py": driver,
        "tests/expected.json": json.dumps(expected, indent=1).encode("ascii") + b"\n",
        "tests/hidden.tar": _archive(problem.hidden),
        "solution/solve.sh": _SOLVE.format(workspace=WORKSPACE).encode("ascii"),
        "solution/deleted": deleted,
        "solution/fix.tar": _archive(problem.fix),
        "solution/fix.patch": make_patch(base, problem.fix).encode("utf-8", "surrogateescape"),
    }
    try:
        for name, data in files.items():
            write_atomic(folder / name, data)
            if name.endswith(".sh"):
                (folder / name).chmod(0o755)
    except OSError as error:
        raise InfrastructureError(f"cannot write {folder}: {error.strerror or error}.") from error


def _dockerfile(recipe: Mapping[str, Any]) -> str:
    python = str(mapping(recipe.get("tools")).get("python") or get_python_version())
    image = recipe.get("image") or f"python:{'.'.join(python.split('.')[:2])}-slim-bookworm"
    names = recipe.get("packages") or []
    if odd := [name for name in (image, *names) if not _PLAIN.fullmatch(name)]:
        raise UsageError(f"{odd[0]!r} of its environment cannot be written into a Dockerfile.")
    packages = _PACKAGES.format(names=" ".join(names)) if names else ""
    return _DOCKERFILE.format(image=image, packages=packages, workspace=WORKSPACE)


def _set_up(recipe: Mapping[str, Any], base: Tree) -> str:
    """Return a shell script that runs the recipe's set-up commands.

    It installs the package versions that the environment recorded, else the versions in the base's ``uv.lock``.
    """
    constraints = "/opt/codegate/constraints.txt"
    variables = {"SETUPTOOLS_SCM_PRETEND_VERSION": "1.0", **recipe.get("env", {})}  # there is no history of Git
    if "uv.lock" not in base:  # a lock file alone decides versions
        variables |= {"UV_CONSTRAINT": constraints, "PIP_CONSTRAINT": constraints}
    lines = [f"export {name}={shlex.quote(value)}" for name, value in variables.items()]
    lines += [f"bash -e -o pipefail -c {shlex.quote(command)}" for command in recipe.get("setup", [])]
    return "\n".join(["set -eu", *lines, ""])


def _archive(files: Changes) -> bytes:
    """Return a reproducible tar archive, without deleted files."""
    stream = io.BytesIO()
    with tarfile.open(fileobj=stream, mode="w", format=tarfile.PAX_FORMAT) as out:
        for path, file in sorted(files.items()):
            if file is None:
                continue
            entry = tarfile.TarInfo(path)
            if file.is_link:
                entry.type = tarfile.SYMTYPE
                entry.linkname = file.data.decode("utf-8", "surrogateescape")
                out.addfile(entry)
            else:
                entry.size = len(file.data)
                entry.mode = 0o755 if file.mode == "100755" else 0o644
                out.addfile(entry, io.BytesIO(file.data))
    return stream.getvalue()


def _config(suite: Suite, problem: Problem, task: str) -> str:
    limits, tags = problem.manifest.limits, problem.manifest.tags
    labels = [tags[name] for name in ("tier", "component") if name in tags]
    keywords = [problem.manifest.kind or "bugfix", problem.manifest.language, *labels]
    name = "/".join(_NOT_IN_NAMES.sub("-", part).strip("-_") or "task" for part in task.split("/", 1))
    return f"""\
schema_version = "1.4"

[task]
name = {_toml(name)}
description = {_toml(problem.manifest.provenance.title)}
keywords = [{", ".join(map(_toml, keywords))}]

[metadata]
category = "bugfix"
codegate_problem = {_toml(problem.id)}
codegate_digest = {_toml(problem.digest)}
codegate_canary = {_toml(suite.manifest.canary)}

[agent]
timeout_sec = {_AGENT_SECONDS}

[verifier]
timeout_sec = {limits.seconds + _AROUND_TESTS}

[environment]
build_timeout_sec = 900.0
cpus = {max(1, round(limits.cpus))}
memory_mb = {max(_LEAST_MEMORY_MB, limits.memory_mb)}
workdir = {_toml(WORKSPACE)}
"""


def _toml(text: str) -> str:
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")
