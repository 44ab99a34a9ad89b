"""A folder of attempts that later runs reuse.

An unchanged candidate is not paid for twice on an unchanged problem. The folder is untrusted: a file that does not hold
the wanted attempt is not used.
"""

import os
from collections.abc import Callable, Mapping
from pathlib import Path

from codegate.durable import digest, write_atomic
from codegate.errors import InfrastructureError, UsageError
from codegate.running.journal import MAX_TRANSCRIPT_BYTES
from codegate.running.outcome import json_text
from codegate.running.plan import AttemptJob
from codegate.solving import Attempt, prompt_version_of
from codegate.suite import read_json


class AttemptCache:
    """A folder of attempts that later runs reuse. Thread-safe.

    An attempt is reused only under the same ``conditions``. ``announce`` receives a line for each unusable file, and
    one if the folder cannot be written to. Several runs may use the folder at the same time, because files are replaced
    atomically.
    """

    def __init__(self, folder: Path, conditions: Mapping[str, str], announce: Callable[[str], None]) -> None:
        self._folder = folder
        self._conditions = {name: value for name, value in conditions.items() if name != "suite"}
        self._announce = announce
        self._failed = False

    def take(self, job: AttemptJob) -> Attempt | None:
        """Return the job's stored attempt, marked as reused, or None."""
        path = self._path(job)
        if path is None or not os.path.lexists(path):
            return None
        try:
            attempt = read_json(path, Attempt, MAX_TRANSCRIPT_BYTES)
            made = (attempt.candidate, attempt.problem, attempt.sample, attempt.solver, attempt.prompt_version)
            if made != (*job.key, job.candidate.solver, prompt_version_of(job.candidate)):
                raise UsageError(f"{path} holds another attempt.")
        except UsageError as error:
            self._announce(f"not reused, so the model is called: {error.cause}")
            return None
        # A provider's filter may accept the same request next time, so its refusals are not reused.
        filtered = attempt.stop == "refusal" and any(call.stop_reason == "content_filter" for call in attempt.calls)
        return None if filtered else attempt.model_copy(update={"reused": True})

    def keep(self, job: AttemptJob, attempt: Attempt) -> None:
        """Store a finished attempt of a model or pinned agent."""
        path = self._path(job)
        if path is None or path.parent.is_symlink():
            return
        try:
            write_atomic(path, json_text(attempt).encode("ascii"))
        except InfrastructureError as error:  # the run has the attempt
            if not self._failed:
                self._announce(f"answers are not kept for later runs: {error.cause}")
            self._failed = True

    def _path(self, job: AttemptJob) -> Path | None:
        # Not kept are answers that cost nothing, and those of agents without a fixed version and date. Answers with
        # tools also depend on the sandbox.
        candidate, agent = job.candidate, job.candidate.agent
        if not candidate.calls_a_model or (agent is not None and (agent.version is None or agent.as_of is None)):
            return None
        key = digest(
            {
                "job": job.key,
                "problem": job.problem.digest,
                "solver": candidate.solver,
                "prompt": prompt_version_of(candidate),
                "conditions": {} if candidate.solver == "single_shot" else self._conditions,
            }
        )
        return self._folder / candidate.key() / f"{key}.json"
