"""Harbor's task folders (schema 1.4), which Terminal-Bench 2 and later are made of.

Layout, by Harbor's documentation: ``task.toml``, ``instruction.md``, ``environment/`` (the agent's image),
``tests/test.sh`` (run in the container as /tests after the agent, writes /logs/verifier/reward.txt) and
``solution/solve.sh`` (run as /solution by the oracle). The environment's lock becomes a Dockerfile; the reward is
1 when every expected test passes by its id. ``codegate.json``, which Harbor does not look at, is the problem as a
row, so that the folder can be imported again without loss.
"""

import io
import json
import re
import tarfile
from importlib import resources
from pathlib import Path
from typing import Any, Final

from codegate.durable import write_atomic
from codegate.errors import UsageError
from codegate.suite.exchange.portable import portable_patch
from codegate.suite.model import LockedEnvironment, Problem, Suite
from codegate.suite.tree import Changes, Tree, TreeFile

ROW: Final = "codegate.json"
WORKSPACE: Final = "/workspace"
_AGENT_SECONDS: Final = 1800.0
_AROUND_TESTS: Final = 60.0
_LEAST_MEMORY_MB: Final = 2048
_NOT_IN_NAMES: Final = re.compile(r"[^A-Za-z0-9_-]+")

_DOCKERFILE: Final = """\
FROM {image}
ENV PYTHONDONTWRITEBYTECODE=1 PYTHONHASHSEED=0 TZ=UTC LC_ALL=C.UTF-8 PYTHONPATH={path}
COPY requirements.lock /opt/codegate/requirements.lock
RUN PIP_BREAK_SYSTEM_PACKAGES=1 python -m pip install --no-cache-dir --disable-pip-version-check \\
    --no-deps --require-hashes --only-binary=:all: -r /opt/codegate/requirements.lock
ADD base.tar {workspace}/
WORKDIR {workspace}
"""
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


def write_task(folder: Path, suite: Suite, problem: Problem, base: Tree, row: dict[str, Any]) -> None:
    """Write ``problem`` as the task folder ``folder``.

    Args:
        folder: where; it must not exist.
        suite: the suite that the problem is of.
        problem: the problem.
        base: its base tree.
        row: the problem as a row.

    Raises:
        UsageError: its tests are not run by pytest alone, which is all that the written ``test.sh`` knows.
        InfrastructureError: the disk refused.
    """
    environment = suite.locked(problem.environment.id)
    if problem.manifest.runner != "pytest" or environment.packages:
        raise UsageError(f"its tests are run by {problem.manifest.runner}; task folders are written for pytest only.")
    deleted = [path for path, file in problem.hidden.items() if file is None]
    expected = {
        "workspace": WORKSPACE,
        "python_path": problem.manifest.python_path,
        "files": problem.manifest.test_files,
        "deleted": deleted,
        "expected": problem.tests.expected,
    }
    solve = _SOLVE.format(workspace=WORKSPACE)
    gone = b"".join(path.encode("utf-8") + b"\0" for path, file in problem.fix.items() if file is None)
    driver = resources.files("codegate.suite.exchange.drivers").joinpath("verify_driver.py").read_bytes()
    files = {
        "task.toml": _config(suite, problem, row).encode("utf-8"),
        "instruction.md": problem.statement.encode("utf-8"),
        ROW: json.dumps(row, indent=1).encode("ascii") + b"\n",
        "environment/Dockerfile": dockerfile(problem, environment).encode("ascii"),
        "environment/requirements.lock": environment.lock.encode("utf-8"),
        "environment/base.tar": archive(base),
        "tests/test.sh": _TEST.encode("ascii"),
        "tests/codegate_verify.py": driver,
        "tests/expected.json": json.dumps(expected, indent=1).encode("ascii") + b"\n",
        "tests/hidden.tar": archive(problem.hidden),
        "solution/solve.sh": solve.encode("ascii"),
        "solution/deleted": gone,
        "solution/fix.tar": archive(problem.fix),
        "solution/fix.patch": portable_patch(base, problem.fix).encode("utf-8", "surrogateescape"),
    }
    for name, data in files.items():
        write_atomic(folder / name, data)
        if name.endswith(".sh"):
            (folder / name).chmod(0o755)


def dockerfile(problem: Problem, environment: LockedEnvironment) -> str:
    """Return the Dockerfile of the container that an agent works in: interpreter, locked wheels, base tree."""
    roots = [f"{WORKSPACE}/{root}".rstrip("/") for root in problem.manifest.python_path]
    if any(not re.fullmatch(r"[\w./-]+", root, re.ASCII) for root in roots):
        raise UsageError(f"its python_path {roots} cannot be written into a Dockerfile.")
    image = environment.manifest.image or f"python:{environment.manifest.python}-slim-bookworm"
    return _DOCKERFILE.format(image=image, path=":".join(roots), workspace=WORKSPACE)


def archive(files: Changes) -> bytes:
    """Return the files among ``files`` as a tar archive: sorted, without times, so equal files give equal bytes."""
    stream = io.BytesIO()
    with tarfile.open(fileobj=stream, mode="w", format=tarfile.PAX_FORMAT) as out:
        for path, file in sorted(files.items()):
            if file is not None:
                _add(out, path, file)
    return stream.getvalue()


def _add(out: tarfile.TarFile, path: str, file: TreeFile) -> None:
    entry = tarfile.TarInfo(path)
    if file.is_link:
        entry.type = tarfile.SYMTYPE
        entry.linkname = file.data.decode("utf-8", "surrogateescape")
        out.addfile(entry)
        return
    entry.size = len(file.data)
    entry.mode = 0o755 if file.mode == "100755" else 0o644
    out.addfile(entry, io.BytesIO(file.data))


def _config(suite: Suite, problem: Problem, row: dict[str, Any]) -> str:
    limits = problem.manifest.limits
    owner, instance = str(row["repo"]).partition("/")[0], str(row["instance_id"])
    tags = [problem.manifest.kind or "bugfix", problem.manifest.language, *_tag(problem, "tier", "component")]
    return f"""\
schema_version = "1.4"

[task]
name = {_toml(f"{_name(owner)}/{_name(instance)}")}
description = {_toml(problem.manifest.provenance.title)}
keywords = [{", ".join(map(_toml, tags))}]

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


def _tag(problem: Problem, *names: str) -> list[str]:
    return [problem.manifest.tags[name] for name in names if name in problem.manifest.tags]


def _name(text: str) -> str:
    return _NOT_IN_NAMES.sub("-", text).strip("-_") or "task"


def _toml(text: str) -> str:
    """Return ``text`` as a TOML basic string: JSON's escapes, but for characters that TOML wants raw."""
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")
