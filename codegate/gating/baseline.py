"""The files of the pinned baseline: ``baseline.json`` and ``codegate.lock``.

``baseline.json`` holds the samples; ``codegate.lock`` names that file and its digests. Both are untrusted: capped in
size, strictly typed, and refused unless their digests agree. A missing or broken baseline is an error with a remedy,
never "nothing to compare, so pass".
"""

import json
import re
import shlex
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Final, Literal, TypeVar

from pydantic import AfterValidator, BaseModel, Field, StringConstraints, ValidationError, field_validator

from codegate.candidates import CandidateSpec
from codegate.durable import digest, sha256, write_atomic
from codegate.errors import UsageError
from codegate.gating.comparability import check_samples
from codegate.gating.samples import CandidateSamples
from codegate.strict import Strict, parse_json, printable, read_bytes
from codegate.suite import is_plain_path
from codegate.suite.model import Sha256

WARN_DAYS: Final = 60
"""Age of the newest sample from which a refresh is recommended."""
EXPIRE_DAYS: Final = 90
"""Age at which a baseline has expired; GitHub keeps artifacts for 90 days by default."""

MAX_BASELINE_BYTES: Final = 16 * 1024 * 1024
MAX_LOCK_BYTES: Final = 256 * 1024
_MAX_EVENTS = 1000

_RunId = Annotated[str, StringConstraints(min_length=1, max_length=100)]
_MISSING = "Check its name, restore it from version control, or pin it with `codegate baseline pin RUN`."
_OLDER = re.compile(rb'"schema": ?"(codegate\.baseline/[1-3])"')
_REPIN = "Pin it again with `codegate baseline pin RUN`, or restore the file from version control."


def utc_time(text: str) -> str:
    """Return an ISO 8601 time as UTC, to the second.

    Raises ValueError for any other text and for a time without a zone.
    """
    try:
        moment = datetime.fromisoformat(text)
        if moment.tzinfo is None:
            raise ValueError("it has no time zone")
        return moment.astimezone(UTC).isoformat(timespec="seconds")
    except OverflowError:
        raise ValueError("the year is out of range") from None


Moment = Annotated[str, AfterValidator(utc_time)]
"""A UTC time, ISO 8601."""


class PooledRun(Strict):
    """One of the runs whose samples make up the baseline.

    ``finished`` is the time of the run's last sample; ``samples`` is the run's number of samples per problem.
    """

    id: _RunId
    finished: Moment
    samples: int = Field(ge=1, le=1_000_000)


class Pinning(Strict):
    """One entry in the baseline's history of changes.

    Attributes:
        action: ``pin``, ``refresh`` (samples added), ``reset`` (another model), or ``replace`` of older versions.
        who: the git user, or the GitHub account that started the workflow; None when neither is known.
        runs: ids of the runs that were added.
        predecessor: digest of the baseline that was pinned before, if any.
        drift: p of the test that new and stored samples have the same rates; None if no test was made.
    """

    action: Literal["pin", "refresh", "replace", "reset"]
    at: Moment
    who: Annotated[str, StringConstraints(max_length=200)] | None
    commit: Annotated[str, StringConstraints(pattern=r"^[0-9a-f]{40,64}$")] | None
    runs: tuple[_RunId, ...]
    predecessor: Sha256 | None = None
    predecessor_model: Annotated[str, StringConstraints(max_length=2000)] | None = None
    drift: float | None = Field(default=None, ge=0, le=1)
    reason: str = Field(default="", max_length=1000)


class Baseline(Strict):
    """``baseline.json``: the samples of the pinned model, frozen.

    Attributes:
        created: UTC time of the last pinning or refresh.
        codegate: the version of codegate that wrote the file.
        spec: the candidate as configured, so that fresh samples of it can be made.
        complete: every problem has every sample and none was lost to infrastructure.
        provenance: the changes of the baseline, oldest first; a reset starts a new list.
        digest: SHA-256 of the canonical JSON of everything else in the file.
    """

    baseline_schema: Literal["codegate.baseline/4"] = Field(default="codegate.baseline/4", alias="schema")
    created: Moment
    codegate: str
    spec: CandidateSpec
    runs: tuple[PooledRun, ...] = Field(min_length=1, max_length=_MAX_EVENTS)
    suite_digest: str
    complete: bool
    samples: CandidateSamples
    provenance: tuple[Pinning, ...] = Field(min_length=1, max_length=_MAX_EVENTS)
    digest: Sha256

    @field_validator("spec", mode="before")
    @classmethod
    def _spec_as_in_a_run(cls, value: object) -> CandidateSpec:
        # The validators of CandidateSpec get Python objects, in which strict types would refuse dates, tuples and
        # prices.
        return CandidateSpec.model_validate(value, strict=False)

    def computed_digest(self) -> str:
        """Return the SHA-256 of all fields except ``digest``."""
        return digest(self.model_dump(mode="json", by_alias=True, exclude={"digest"}))

    def sealed(self) -> "Baseline":
        """Return a copy whose ``digest`` matches its content."""
        return self.model_copy(update={"digest": self.computed_digest()})

    def age(self, now: datetime | None = None) -> "Age":
        """Return how old the newest samples are."""
        newest = max(datetime.fromisoformat(run.finished) for run in self.runs)
        days = ((now or datetime.now(UTC)) - newest).days
        if days < -1:  # the clocks of two machines can differ a little
            return Age(None, "future")
        return Age(max(days, 0), "expired" if days >= EXPIRE_DAYS else "old" if days >= WARN_DAYS else "fresh")


@dataclass(frozen=True)
class Age:
    """How old a baseline's newest samples are, in whole days.

    ``days`` is None if the samples are dated in the future. ``state`` is ``old`` from ``WARN_DAYS`` on and ``expired``
    from ``EXPIRE_DAYS`` on.
    """

    days: int | None
    state: Literal["fresh", "old", "expired", "future"]

    def words(self) -> str:
        """Return a warning about an old baseline; "" if ``fresh``."""
        match self.state:
            case "old":
                return f"its newest samples are {self.days} days old; refresh it with fresh runs of the same model"
            case "expired":
                return f"its newest samples are {self.days} days old, past the limit of {EXPIRE_DAYS}: refresh it"
            case "future":
                return "its newest samples are dated in the future: check the clock of the machine that made them"
            case _:
                return ""


WORKFLOW_FILE: Final = r"^\.github/workflows/(?:[^/\s]| ){1,200}\.ya?ml$"
"""Pattern of a workflow file's path. GitHub allows any characters in the file's name, blanks included."""


class Download(Strict):
    """Where to download a pinned baseline; the lock verifies it.

    Either an ``artifact`` that a run of ``workflow`` uploaded, or the file ``asset`` of a ``release`` (a tag).
    """

    artifact: Annotated[str, StringConstraints(min_length=1, max_length=256)] | None = None
    workflow: str = Field(default=".github/workflows/codegate-baseline.yml", pattern=WORKFLOW_FILE)
    release: Annotated[str, StringConstraints(min_length=1, max_length=256)] | None = None
    asset: Annotated[str, StringConstraints(min_length=1, max_length=256)] | None = None


class Lock(Strict):
    """``codegate.lock``: which baseline is pinned.

    Attributes:
        baseline: path of the baseline file, relative to the lock's folder.
        sha256: SHA-256 of the baseline file's bytes.
        digest: the field ``digest`` in the baseline file.
        transport: where to download the baseline if the file is missing; None: nowhere.
        environments: SHA-256 of each archive of a built environment that may be used, by the environment's key.
    """

    lock_schema: Literal["codegate.lock/1"] = Field(default="codegate.lock/1", alias="schema")
    baseline: str
    sha256: Sha256
    digest: Sha256
    suite_digest: str
    model: str
    transport: Download | None = None
    environments: Mapping[Sha256, Sha256] = Field(default={}, max_length=1000)

    def remedy(self, place: Path | str, otherwise: str) -> str:
        """Return a remedy for missing bytes at ``place``.

        It is ``otherwise`` if the lock names no download.
        """
        if (download := self.transport) is not None and download.artifact is not None:
            where, words = f"an artifact of {download.workflow}", ["run", "download", "--name", download.artifact]
        elif download is not None and download.release is not None and download.asset is not None:
            where, words = "a file of a release", ["release", "download", download.release, "--pattern", download.asset]
        else:
            return otherwise
        command = printable(shlex.join(["gh", *words]), 300)
        return f"The lock pins {printable(where)}: get it by `{command}`, and put the baseline at {place}."


_FileT = TypeVar("_FileT", bound=BaseModel)


def samples_each(samples: CandidateSamples) -> int:
    """Return the largest number of samples that a problem has."""
    return max((len(entries) for entries in samples.samples.values()), default=0)


def missing_samples(samples: CandidateSamples) -> tuple[str, ...]:
    """Return a line of text per missing or lost sample."""
    width = samples_each(samples)
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
                why = entries[index].failure
                state = "was not run" if why == "not run" else f"was lost to {why or 'infrastructure'}"
                lines.append(f"{problem}: sample {index} {state}")
    return tuple(lines)


def write_baseline(path: Path, baseline: Baseline) -> None:
    """Write ``baseline`` to ``path`` atomically; equal baselines give equal bytes."""
    write_atomic(path, encode_file(baseline))


def write_lock(
    lock_path: Path,
    baseline_path: Path,
    transport: Download | None = None,
    environments: Mapping[str, str] | None = None,
) -> Lock:
    """Write ``codegate.lock``, which pins the baseline file ``baseline_path``.

    ``transport`` is where the baseline can be downloaded, ``environments`` the SHA-256 of built environments by key.
    Raises UsageError if the baseline file is broken, or is not below the lock's folder.
    """
    data = _read(baseline_path, MAX_BASELINE_BYTES, "baseline")
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
        transport=transport,
        environments=environments or {},
    )
    write_atomic(lock_path, encode_file(lock))
    return lock


def load_lock(lock_path: Path) -> Lock:
    """Read and check ``codegate.lock``.

    Raises UsageError if the file is missing or broken, or names a baseline outside its folder.
    """
    return parse_lock(_read(lock_path, MAX_LOCK_BYTES, "lock"), lock_path)


def parse_lock(data: bytes, place: Path | str) -> Lock:
    """Parse a lock's bytes; UsageError names ``place``."""
    lock = parse_file(f"lock {place}", data, Lock, _REPIN)
    if not is_plain_path(lock.baseline):
        raise UsageError(f"lock {place} names the baseline {lock.baseline!r}, which is not below its folder.", _REPIN)
    return lock


def load_pinned(lock_path: Path) -> Baseline:
    """Return the baseline that a lock pins; UsageError if changed."""
    lock = load_lock(lock_path)
    path = lock_path.parent / lock.baseline
    data = _read(path, MAX_BASELINE_BYTES, "baseline", lock.remedy(path, _MISSING))
    return verify_pinned(lock, data, lock_path, path)


def verify_pinned(lock: Lock, data: bytes, lock_place: Path | str, place: Path | str) -> Baseline:
    """Return the baseline in ``data``, which ``lock`` must pin.

    Raises UsageError if the lock pins other bytes or the baseline is broken. ``lock_place`` and ``place`` name lock and
    baseline in messages.
    """
    if sha256(data) != lock.sha256:
        raise UsageError(
            f"baseline {place} is not the one that {lock_place} pins: its sha256 is {sha256(data)[:16]}..., "
            f"pinned is {lock.sha256[:16]}....",
            lock.remedy(place, _REPIN),
        )
    baseline = _verified(place, data)
    pinned = (lock.digest, lock.suite_digest, lock.model)
    if pinned != (baseline.digest, baseline.suite_digest, baseline.samples.model):
        raise UsageError(f"lock {lock_place} and baseline {place} disagree about digest, suite or model.", _REPIN)
    return baseline


def _verified(path: Path | str, data: bytes) -> Baseline:
    if (older := _OLDER.search(data)) is not None:
        raise UsageError(
            f"baseline {path} is of an older form ({older[1].decode('ascii')}), which is not read any more.",
            "Run its candidate again, on a suite of the present form, and pin that: `codegate baseline pin RUN`.",
        )
    baseline = parse_file(f"baseline {path}", data, Baseline, _REPIN)
    if baseline.computed_digest() != baseline.digest:
        raise UsageError(f"baseline {path} was changed after it was pinned: its digest does not match.", _REPIN)
    check_samples(baseline.samples, f"baseline {path}:")
    if not baseline.complete or missing_samples(baseline.samples) or not baseline.samples.problem_digests:
        raise UsageError(f"baseline {path} is incomplete, so nothing can be compared with it.", _REPIN)
    runs = [run.id for run in baseline.runs]
    if len(set(runs)) != len(runs) or sum(run.samples for run in baseline.runs) != samples_each(baseline.samples):
        raise UsageError(f"baseline {path} contradicts itself: its samples are not those of its runs.", _REPIN)
    if baseline.spec.key() != baseline.samples.candidate:
        raise UsageError(f"baseline {path} contradicts itself: its samples are not of its candidate.", _REPIN)
    return baseline


def encode_file(file: Baseline | Lock) -> bytes:
    """Return the file as JSON; UnicodeEncodeError for a lone surrogate."""
    value = file.model_dump(mode="json", by_alias=True)
    return (json.dumps(value, indent=1, sort_keys=True, ensure_ascii=False, allow_nan=False) + "\n").encode()


def _read(path: Path, limit: int, what: str, missing: str = _MISSING) -> bytes:
    try:
        return read_bytes(path, limit)
    except UsageError as error:
        raise UsageError(f"{what}: {error.cause}", _REPIN if path.exists() else missing) from error


def parse_file(place: Path | str, data: bytes, model: type[_FileT], remedy: str) -> _FileT:
    """Parse strict JSON as ``model``; UsageError names ``place`` and ``remedy``."""
    try:
        parse_json(data.decode("utf-8"), str(place))  # refuses duplicate keys and NaN, which the model would accept
        return model.model_validate_json(data, strict=True)
    except UnicodeDecodeError:
        raise UsageError(f"{place} is not UTF-8 text.", remedy) from None
    except ValidationError as error:
        raise UsageError(f"{place} is broken at {first_fault(error)}.", remedy) from None
    except UsageError as error:
        raise UsageError(error.cause, remedy) from None


def first_fault(error: ValidationError) -> str:
    """Return the place and message of the first validation error."""
    first = error.errors(include_url=False, include_input=False)[0]
    place = ".".join(str(part) for part in first["loc"]) or "top level"
    return printable(f"{place[:200]}: {first['msg'][:200]}")
