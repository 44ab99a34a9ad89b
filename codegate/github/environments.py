"""Keep built environments between workflow runs, in an artifact.

The lock lists the archives to trust. GitHub's cache is not used: a job of a pull request can fill its branch's cache,
and restoring a cache writes every file on the runner that the cache's archive names.
"""

import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from codegate.environments import SUFFIXES, export_built, import_built
from codegate.errors import CodegateError
from codegate.gating import Lock
from codegate.github.artifacts import default_branch, download_artifact, own_artifacts, read_members
from codegate.github.step import Job
from codegate.wording import count_of

FOLDER: Final = "environments"
"""Name of the folder among the reports that the workflow uploads as the artifact."""

_MAX_ARTIFACT_BYTES: Final = 1 << 30
_MAX_BYTES: Final = 4 << 30


def take_environments(job: Job, lock: Lock | None) -> None:
    """Import built environments from an artifact of the default branch.

    Only archives that ``lock`` lists are imported, so none without a lock. A failure is logged as a warning.
    """
    name, github, event = job.inputs.environments, job.github, job.event
    if name is None or lock is None or not lock.environments or github is None or event is None:
        return
    try:
        artifact = next(own_artifacts(github, name, default_branch(github, event)), None)
        if artifact is None:
            return
        data = download_artifact(github, artifact, _MAX_ARTIFACT_BYTES)
        names = {f"{key}{suffix}" for key in lock.environments for suffix in SUFFIXES}
        with tempfile.TemporaryDirectory(dir=job.environment.get("RUNNER_TEMP") or None) as folder:
            for name, content in read_members(data, names.__contains__, _MAX_BYTES, str(artifact)):
                Path(folder, name).write_bytes(content)
            count, refused = import_built(Path(folder), lock.environments)
    except (CodegateError, OSError) as error:
        job.log.warn(f"all environments are built anew: {error}")
        return
    job.log.log(f"{count_of(count, 'environment')} taken from {artifact}")
    for reason in refused:
        job.log.warn(f"{artifact}: {reason}; the environment is built anew.")


def keep_environments(job: Job) -> Mapping[str, str]:
    """Export all built environments for upload; return SHA-256 by key.

    The archives are written into the folder of the reports.
    """
    if job.inputs.environments is None:
        return {}
    try:
        return export_built(job.inputs.reports / FOLDER)
    except CodegateError as error:
        job.log.warn(str(error))
        return {}
