"""Record a run's answers as transcripts for ``replay`` candidates.

They need no network.
"""

import re
from pathlib import Path

from codegate.candidates import CandidateSpec, transcript_header
from codegate.durable import write_atomic
from codegate.errors import UsageError
from codegate.running.journal import Journal
from codegate.solving import record_attempt


def record_run(journal: Journal, out: Path) -> dict[Path, CandidateSpec]:
    """Write a transcript per candidate; return the replaying candidates.

    Candidates that call no model have none, and attempts that a fault took are missing. A transcript holds nothing that
    was not in the run, where keys are redacted.

    Raises:
        UsageError: no candidate called a model, or a file is there already.
    """
    written: dict[Path, CandidateSpec] = {}
    for candidate in journal.manifest.candidates:
        if not candidate.calls_a_model:
            continue
        kept = (journal.read_attempt(candidate.key(), *place) for place in journal.manifest.planned())
        lines = [record_attempt(attempt) for attempt in kept if attempt is not None]
        path = out / f"{re.sub(r'[^A-Za-z0-9.-]+', '-', candidate.label)[:80]}-{candidate.key()[:6]}.jsonl"
        if path.exists():
            raise UsageError(f"{path} exists.", "Remove it, or name another folder with --out.")
        header = transcript_header("recorded", candidate.model, f"run {journal.manifest.id}")
        path.parent.mkdir(parents=True, exist_ok=True)
        write_atomic(path, b"".join(line + b"\n" for line in (header, *lines)))
        written[path] = CandidateSpec(
            provider="replay",
            model=path.name,
            name=candidate.label,
            solver="single_shot" if candidate.agent is not None else candidate.solver,
            max_iterations=5 if candidate.agent is not None else candidate.max_iterations,
            sampling=candidate.sampling,
            prices=candidate.prices,
        )
    if not written:
        raise UsageError(f"no candidate of {journal.folder} called a model: there is nothing to record.")
    return written
