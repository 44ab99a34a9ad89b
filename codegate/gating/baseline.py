"""The pinned baseline: ``baseline.json`` holds a blessed run, ``codegate.lock`` says which one it is.

Both are read as if an attacker had written them: capped in size, strictly typed, and worth nothing unless their
digests agree. A missing or broken baseline is an error with a remedy, never "nothing to compare, so pass".
"""

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Literal, TypeVar

from pydantic import BaseModel, ConfigDict, Field, StringConstraints, ValidationError

from codegate import __version__
from codegate.durable import digest, sha256, write_atomic
from codegate.errors import UsageError
from codegate.gating.comparability import check_samples
from codegate.gating.samples import CandidateSamples
from codegate.suite import is_plain_path, parse_json, read_bytes

BASELINE_SCHEMA: Literal["codegate.baseline/1"] = "codegate.baseline/1"
LOCK_SCHEMA: Literal["codegate.lock/1"] = "codegate.lock/1"

_MAX_BASELINE_BYTES = 16 * 1024 * 1024
_MAX_LOCK_BYTES = 64 * 1024
_LISTED = 10  # how many missing samples a message names

_Sha256 = Annotated[str, StringConstraints(pattern=r"^[0-9a-f]{64}$")]
_REPIN = "Pin it again with `codegate baseline pin RUN`, or restore the file from version control."


class _File(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, populate_by_name=True)


class Baseline(_File):
    """``baseline.json``: the samples of the pinned model, frozen.

    Attributes:
        created: UTC time of the pinning, ISO 8601.
        codegate: version that pinned it.
        run: id of the run that was pinned.
        suite_digest: digest of the suite that was run.
        complete: every problem has every sample and none was lost to infrastructure.
        digest: SHA-256 of the canonical JSON of everything else in the file.
    """

    baseline_schema: Literal["codegate.baseline/1"] = Field(default=BASELINE_SCHEMA, alias="schema")
    created: str
    codegate: str
    run: str
    suite_digest: str
    complete: bool
    samples: CandidateSamples
    digest: _Sha256

    def computed_digest(self) -> str:
        """Return the digest that the content has, whatever ``digest`` says."""
        return digest(self.model_dump(mode="json", by_alias=True, exclude={"digest"}))


class Lock(_File):
    """``codegate.lock``: which baseline is pinned.

    Attributes:
        baseline: path of the baseline file, relative to the lock's folder.
        sha256: SHA-256 of the baseline file's bytes.
        digest: the baseline's own digest.
        suite_digest: digest of the suite it was made with.
        model: the pinned model.
    """

    lock_schema: Literal["codegate.lock/1"] = Field(default=LOCK_SCHEMA, alias="schema")
    baseline: str
    sha256: _Sha256
    digest: _Sha256
    suite_digest: str
    model: str


_FileT = TypeVar("_FileT", bound=_File)


def missing_samples(samples: CandidateSamples) -> tuple[str, ...]:
    """Return what a complete run would have and ``samples`` has not, one line for each problem and sample.

    A run is complete when every problem has the sample indices 0..k-1, k being the most that any has, and each
    of them counts.
    """
    width = max((len(entries) for entries in samples.samples.values()), default=0)
    lines: list[str] = []
    for problem in sorted(samples.problem_digests):
        entries = {sample.index: sample for sample in samples.samples.get(problem, ())}
        if not entries:
            lines.append(f"{problem}: no sample")
            continue
        for index in range(width):
            if index not in entries:
                lines.append(f"{problem}: sample {index} is missing")
            elif entries[index].passed is None:
                lines.append(f"{problem}: sample {index} was lost to {entries[index].failure or 'infrastructure'}")
    return tuple(lines)


def pin(samples: CandidateSamples, *, run: str, suite_digest: str, created: datetime | None = None) -> Baseline:
    """Freeze the samples of one candidate as a baseline.

    Args:
        samples: the samples of the candidate to pin.
        run: id of the run they come from.
        suite_digest: digest of the suite that was run.
        created: time of the pinning; now if None.

    Raises:
        UsageError: the run is incomplete, empty or not Unicode, or the samples contradict themselves.
    """
    check_samples(samples, "baseline")
    missing = missing_samples(samples)
    if missing or not samples.problem_digests:
        listed = "; ".join(missing[:_LISTED]) or "it has no problems"
        more = f"; and {len(missing) - _LISTED} more" if len(missing) > _LISTED else ""
        raise UsageError(
            f"run {run} is incomplete and cannot be pinned: {listed}{more}.",
            "Finish it with `codegate run --resume` and pin it then.",
        )
    moment = (created or datetime.now(UTC)).astimezone(UTC)
    unsigned = Baseline(
        created=moment.isoformat(timespec="seconds"),
        codegate=__version__,
        run=run,
        suite_digest=suite_digest,
        complete=True,
        samples=samples,
        digest="0" * 64,
    )
    baseline = unsigned.model_copy(update={"digest": unsigned.computed_digest()})
    try:
        _encode(baseline)
    except UnicodeEncodeError:
        raise UsageError(
            f"run {run!r} holds text that is not Unicode (half a surrogate pair), so it cannot be pinned.",
            "Look for it in the candidate's name and the problems' ids.",
        ) from None
    return baseline


def write_baseline(path: Path, baseline: Baseline) -> None:
    """Write ``baseline`` to ``path`` atomically; equal baselines give equal bytes.

    Raises:
        InfrastructureError: the disk refused.
    """
    write_atomic(path, _encode(baseline))


def load_baseline(path: Path) -> Baseline:
    """Read and verify a baseline file.

    Raises:
        UsageError: the file is missing, too large, not a baseline, changed since it was pinned, or incomplete.
    """
    return _verified(path, _read(path, _MAX_BASELINE_BYTES, "baseline"))


def write_lock(lock_path: Path, baseline_path: Path) -> Lock:
    """Write a lock that pins the baseline at ``baseline_path``, and return it.

    Raises:
        UsageError: the baseline does not load, or is not below the lock's folder.
        InfrastructureError: the disk refused.
    """
    data = _read(baseline_path, _MAX_BASELINE_BYTES, "baseline")
    baseline = _verified(baseline_path, data)
    try:
        relative = baseline_path.resolve().relative_to(lock_path.parent.resolve()).as_posix()
    except ValueError:
        raise UsageError(
            f"baseline {baseline_path} is not below {lock_path.parent}, the folder of {lock_path.name}.",
            "Put the baseline next to the lock or in a folder below it.",
        ) from None
    lock = Lock(
        baseline=relative,
        sha256=sha256(data),
        digest=baseline.digest,
        suite_digest=baseline.suite_digest,
        model=baseline.samples.model,
    )
    write_atomic(lock_path, _encode(lock))
    return lock


def load_lock(lock_path: Path) -> Lock:
    """Read ``codegate.lock``.

    Raises:
        UsageError: the file is missing or broken, or names a path outside its own folder.
    """
    lock = _parse(lock_path, _read(lock_path, _MAX_LOCK_BYTES, "lock"), Lock, "lock")
    if not is_plain_path(lock.baseline):
        raise UsageError(
            f"lock {lock_path} names the baseline {lock.baseline!r}, which is not below its folder.", _REPIN
        )
    return lock


def load_pinned(lock_path: Path) -> Baseline:
    """Read the baseline that ``lock_path`` pins, and check that it is that one, byte for byte.

    Raises:
        UsageError: lock or baseline is missing or broken, or they do not belong together.
    """
    lock = load_lock(lock_path)
    path = lock_path.parent / lock.baseline
    data = _read(path, _MAX_BASELINE_BYTES, "baseline")
    if sha256(data) != lock.sha256:
        raise UsageError(
            f"baseline {path} is not the one that {lock_path} pins: its sha256 is {sha256(data)[:16]}..., "
            f"pinned is {lock.sha256[:16]}....",
            _REPIN,
        )
    baseline = _verified(path, data)
    pinned = (lock.digest, lock.suite_digest, lock.model)
    if pinned != (baseline.digest, baseline.suite_digest, baseline.samples.model):
        raise UsageError(f"lock {lock_path} and baseline {path} disagree about digest, suite or model.", _REPIN)
    return baseline


def _verified(path: Path, data: bytes) -> Baseline:
    baseline = _parse(path, data, Baseline, "baseline")
    if baseline.computed_digest() != baseline.digest:
        raise UsageError(f"baseline {path} was changed after it was pinned: its digest does not match.", _REPIN)
    check_samples(baseline.samples, f"baseline {path}:")
    if not baseline.complete or missing_samples(baseline.samples) or not baseline.samples.problem_digests:
        raise UsageError(f"baseline {path} is incomplete, so nothing can be compared with it.", _REPIN)
    return baseline


def _encode(file: _File) -> bytes:
    value = file.model_dump(mode="json", by_alias=True)
    return (json.dumps(value, indent=1, sort_keys=True, ensure_ascii=False, allow_nan=False) + "\n").encode()


def _read(path: Path, limit: int, what: str) -> bytes:
    try:
        return read_bytes(path, limit)
    except UsageError as error:
        raise UsageError(f"{what}: {error.cause}", _REPIN) from error


def _parse(path: Path, data: bytes, model: type[_FileT], what: str) -> _FileT:
    try:
        parse_json(data.decode("utf-8"), f"{what} {path}")  # keys given twice, NaN: more than the model refuses
        return model.model_validate_json(data, strict=True)
    except UnicodeDecodeError:
        raise UsageError(f"{what} {path} is not UTF-8 text.", _REPIN) from None
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        place = ".".join(str(part) for part in first["loc"]) or "top level"
        raise UsageError(f"{what} {path} is broken at {place[:200]}: {first['msg'][:200]}.", _REPIN) from None
    except UsageError as error:
        raise UsageError(error.cause, _REPIN) from None
