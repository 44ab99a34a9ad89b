"""Built environments that a workflow keeps between runs; the lock says which archives of them may be taken."""

from collections.abc import Mapping

from codegate.errors import CodegateError
from codegate.gating import Lock
from codegate.github.step import Job
from codegate.sandbox import export_environments, import_environments
from codegate.wording import count_of


def take_environments(job: Job, lock: Lock | None) -> None:
    """Take the kept archives whose SHA-256 ``lock`` has; all other environments are built anew."""
    folder = job.inputs.environments
    if folder is None:
        return
    try:
        count, refused = import_environments(folder, lock.environments if lock is not None else {})
    except CodegateError as error:
        job.log.annotate("warning", "codegate", str(error))
        return
    job.log.log(f"{count_of(count, 'environment')} taken from {_place(job)}")
    for reason in refused:
        job.log.annotate("warning", "codegate", f"{_place(job)}/{reason}; the environment is built anew.")


def keep_environments(job: Job) -> Mapping[str, str]:
    """Add what was built to the kept archives, and return their SHA-256 by key; a pull request keeps nothing."""
    folder = job.inputs.environments
    if folder is None or job.base is not None:
        return {}
    try:
        kept = export_environments(folder)
    except CodegateError as error:
        job.log.annotate("warning", "codegate", str(error))
        return {}
    job.log.log(f"{count_of(len(kept), 'environment')} kept in {_place(job)}")
    return kept


def _place(job: Job) -> str:
    """Return the folder relative to the workspace, which later steps have elsewhere."""
    folder = job.inputs.environments
    return folder.relative_to(job.inputs.workspace).as_posix() if folder is not None else ""
