"""Split a run over machines, and merge the shards.

A shard has all samples and candidates of some problems. Only the run's id passes between the machines. It ends with a
digest of the whole plan: each machine plans the run again and checks that digest before anything is spent. Problems are
distributed round-robin in the order of the suite, because neighbours cost about the same. Shards are untrusted
artifacts of other machines: what contradicts the plan is refused. A shard with forged outcomes of its own cannot be
detected.
"""

import os
import re
import shutil
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from decimal import ROUND_DOWN, Decimal
from pathlib import Path
from typing import Any, Final

from codegate.durable import check_new_folder, digest
from codegate.errors import InfrastructureError, UsageError
from codegate.running.gate import Gate, check_finished, check_planned_gate, settled_candidates
from codegate.running.journal import MANIFEST, MAX_JOURNAL_BYTES, OUTCOMES, RUNS, Journal
from codegate.running.outcome import (
    BY_PROBLEM,
    MAX_SHARDS,
    Outcome,
    Run,
    RunManifest,
    Shard,
    SoundnessRecord,
)
from codegate.running.plan import RunOptions
from codegate.running.readiness import refuse_unsound
from codegate.suite import is_place_field
from codegate.wording import join_first

_DIGITS: Final = 16
_SHARD: Final = re.compile(r"([1-9][0-9]{0,2})/([1-9][0-9]{0,2})")
_RUN_ID: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,82}-[0-9a-f]{16}")
_CENT: Final = Decimal("0.000001")


@dataclass(frozen=True)
class ShardChoice:
    """Which shard to run: number ``number`` (from 1) of ``of``."""

    number: int
    of: int
    run_id: str


@dataclass(frozen=True)
class ShardPlan:
    """A shared run: its id, shards (``1/3``), samples per problem."""

    run_id: str
    shards: tuple[str, ...]
    samples: int

    def document(self) -> dict[str, Any]:
        """Return the outputs for a workflow: run id and matrix."""
        return {"run_id": self.run_id, "matrix": {"shard": list(self.shards)}}


def shard_choice(shard: str | None, run_id: str | None) -> ShardChoice | None:
    """Parse a shard such as ``2/3``; None without one."""
    if shard is None and run_id is None:
        return None
    if shard is None or run_id is None:
        raise UsageError(
            "a shard needs its part and its run, as in --shard 2/3 --run-id ID.",
            "`codegate plan --shards 3` gives both.",
        )
    found = _SHARD.fullmatch(shard)
    number, of = (int(part) for part in found.groups()) if found else (0, 0)
    if not 1 <= number <= of <= MAX_SHARDS:
        raise UsageError(f"{shard[:40]!r} is no shard.", f"Write it as 2/3; there are at most {MAX_SHARDS}.")
    if not _RUN_ID.fullmatch(run_id):
        raise UsageError(f"{run_id[:100]!r} is no id of a shared run.", "`codegate plan --shards` gives one.")
    return ShardChoice(number, of, run_id)


def plan_parts(plan: RunManifest, of: int) -> ShardPlan:
    """Split ``plan`` into ``of`` shards, at most one per problem."""
    parts = min(of, len(plan.problems))
    run_id = f"{plan.id}-{plan_digest(plan, parts)}"
    return ShardPlan(run_id, tuple(f"{number}/{parts}" for number in range(1, parts + 1)), plan.samples)


def plan_digest(plan: RunManifest, of: int) -> str:
    """Return a plan's machine-independent digest for ``of`` shards."""
    conditions = {name: value for name, value in plan.conditions.items() if not is_place_field(name)}
    known = plan.model_copy(update={"sandbox": "", "conditions": conditions, "proved": (), "shard": None})
    return digest([known.fingerprint(), list(plan.problems), plan.codegate, of])[:_DIGITS]


def shard_manifest(plan: RunManifest, choice: ShardChoice) -> RunManifest:
    """Return the manifest of the shard that ``choice`` names.

    ``plan`` is the whole run's. Raises UsageError if it is not the plan that ``choice.run_id`` was made from.
    """
    if choice.run_id.rpartition("-")[2] != plan_digest(plan, choice.of):
        raise UsageError(
            f"run {choice.run_id} was planned otherwise than shard {choice.number}/{choice.of} is here: another suite, "
            "configuration, baseline, number of samples or shards, or version of codegate.",
            "Give `codegate plan --shards` and `codegate run --shard` the same files and options.",
        )
    shard = Shard(number=choice.number, of=choice.of, problems=len(plan.problems))
    mine = list(plan.problems)[shard.number - 1 :: shard.of]
    return plan.only(mine).model_copy(update={"id": choice.run_id, "shard": shard})


def whole_manifest(parts: Sequence[RunManifest]) -> RunManifest:
    """Join the shards' manifests to the whole run's.

    Raises UsageError if the joined plan is not the plan that the run's id was made from.
    """
    first = parts[0]
    shares = [list(part.problems) for part in parts]
    longest = max(map(len, shares))
    order = [names[turn] for turn in range(longest) for names in shares if turn < len(names)]
    known = {name: {problem: v for part in parts for problem, v in getattr(part, name).items()} for name in BY_PROBLEM}
    together = {name: {problem: of[problem] for problem in order if problem in of} for name, of in known.items()}
    created = min(part.created for part in parts)
    whole = first.model_copy(update={**together, "created": created, "shard": None})
    planned = [list(whole.problems)[number :: len(parts)] for number in range(len(parts))]
    if planned != shares or first.id.rpartition("-")[2] != plan_digest(whole, len(parts)):
        raise UsageError(
            f"the shards of run {first.id} do not match its plan: problems, samples, candidates or conditions differ.",
            "Run all shards again.",
        )
    return whole


def shared_options(options: RunOptions, shard: Shard) -> RunOptions:
    """Return one shard's options, with its part of the limits."""
    before, after = _problems_up_to(shard, shard.number - 1), _problems_up_to(shard, shard.number)
    calls, budget = options.max_model_calls, options.budget_usd
    if calls is not None:
        calls = calls * after // shard.problems - calls * before // shard.problems
    if budget is not None:
        part = (budget * (after - before) / shard.problems).quantize(_CENT, ROUND_DOWN)
        budget = Decimal(f"{part.normalize():f}")  # people read $2, not $2.000000
    return options.model_copy(update={"max_model_calls": calls, "budget_usd": budget})


def _problems_up_to(shard: Shard, number: int) -> int:
    each, more = divmod(shard.problems, shard.of)
    return each * number + min(number, more)


_OWN: Final = frozenset({*BY_PROBLEM, "created", "shard"})
"""Fields of a manifest that may differ between shards of one run."""


@dataclass(frozen=True)
class _Part:
    journal: Journal
    shard: Shard
    outcomes: tuple[Outcome, ...]

    @property
    def name(self) -> str:
        return f"shard {self.shard.words} ({self.journal.folder})"


def shard_folders(folders: Sequence[Path]) -> tuple[Path, ...]:
    """Return the folders of runs in and below ``folders``.

    In a folder of downloaded artifacts, a run is a subfolder, or a folder ``run`` in one. Raises UsageError if a folder
    has no run.
    """
    found: list[Path] = []
    for folder in folders:
        within = [folder] if os.path.lexists(folder / MANIFEST) else _runs_in(folder)
        if not within:
            raise UsageError(f"{folder} holds no run.", "Give the folders of the shards, or the folder they are in.")
        found += within
        if len(found) > 2 * MAX_SHARDS:
            raise UsageError(f"{folder} holds more than {2 * MAX_SHARDS} runs.", "Give the folders of the shards.")
    return tuple(found)


def _runs_in(folder: Path) -> list[Path]:
    if not folder.is_dir():
        raise UsageError(f"{folder} is no folder.", "Give the folders of the shards, or the folder they are in.")
    # Links are skipped, because an artifact is untrusted.
    children = [child for child in sorted(folder.iterdir()) if not child.is_symlink()]
    places = [place for child in children for place in (child, child / "run") if not place.is_symlink()]
    return [place for place in places if os.path.lexists(place / MANIFEST)]


def merge_shards(
    folders: Sequence[Path],
    out: Path | None = None,
    *,
    run_id: str | None = None,
    gate: Gate | None = None,
    check: Callable[[RunManifest], None] = lambda _: None,
) -> Journal:
    """Merge a run's shards; return the whole run's journal.

    The shards' folders stay unchanged. ``out`` is the whole run's folder, by default ``runs/ID``. ``run_id`` is the
    expected run's id; None: the first shard's. ``gate`` is only compared with the planned gate; ``gate_run`` makes the
    verdict. ``check`` raises UsageError if the whole run must not be made.

    Raises:
        UsageError: a shard is missing, given twice, unfinished, broken, of another run, or planned for another gate.
        InfrastructureError: too many problems were unsound where the shards ran, or ``out`` cannot be written.
    """
    parts = _complete([_opened(folder) for folder in folders], run_id)
    whole = whole_manifest([part.journal.manifest for part in parts])
    check_planned_gate(whole, gate)
    check(whole)
    soundness = _soundness(parts, len(whole.problems))
    over = settled_candidates(Run(manifest=whole, outcomes=()), gate) if gate is not None else frozenset()
    unsound = {name: reason for name, reason in soundness.problems.items() if reason} if soundness is not None else {}
    for part in parts:
        run = Run(manifest=part.journal.manifest.without(unsound), outcomes=part.outcomes)
        check_finished(run, over, part.name, part.journal.folder)
    with _new_folder(out or RUNS / whole.id) as folder:
        _write(folder, whole, parts, soundness)
    return Journal.open(out or RUNS / whole.id)


def _opened(folder: Path) -> tuple[Journal, Shard]:
    journal = Journal.open(folder)
    if journal.manifest.shard is None:
        raise UsageError(f"{folder} is a whole run, and no shard of one.", "Leave it out.")
    return journal, journal.manifest.shard


def _complete(found: Sequence[tuple[Journal, Shard]], run_id: str | None) -> list[_Part]:
    if not found:
        raise UsageError("no shard was given.", "Give the folder of each.")
    first, shard = found[0]
    wanted = run_id or first.manifest.id
    plan = _common(first.manifest)
    by_number: dict[int, Journal] = {}
    for journal, part in found:
        if journal.manifest.id != wanted:
            raise UsageError(
                f"{journal.folder} is a shard of run {journal.manifest.id}, not of {wanted}.", "Leave it out."
            )
        if (part.of, part.problems) != (shard.of, shard.problems):
            raise UsageError(f"{journal.folder} is shard {part.words}, and {first.folder} is {shard.words}.")
        if part.number in by_number:
            raise UsageError(
                f"shard {part.words} is given twice: {by_number[part.number].folder} and {journal.folder}.",
                "Leave one of them out.",
            )
        by_number[part.number] = journal
        if differing := [name for name, value in _common(journal.manifest).items() if value != plan[name]]:
            raise UsageError(
                f"{journal.folder} is no shard of the same run as {first.folder}: they differ in "
                f"{', '.join(differing)}.",
                "Run all shards with the same files, options and version of codegate, and the same kind of sandbox.",
            )
    missing = [f"{number}/{shard.of}" for number in range(1, shard.of + 1) if number not in by_number]
    if missing:
        raise UsageError(
            f"of run {wanted} {len(missing)} of {shard.of} shards are missing: {join_first(missing, 20)}.",
            "Run them, and merge again.",
        )
    if sum(_size(journal) for journal in by_number.values()) > MAX_JOURNAL_BYTES:
        raise UsageError(f"the outcomes of all shards are larger than {MAX_JOURNAL_BYTES} bytes together.")
    return [_read(by_number[number], number, shard) for number in sorted(by_number)]


def _size(journal: Journal) -> int:
    try:
        return (journal.folder / OUTCOMES).lstat().st_size
    except OSError:
        return 0  # reading the file raises the error later


def _common(manifest: RunManifest) -> dict[str, Any]:
    return manifest.model_dump(mode="json", exclude=set(_OWN))


def _read(journal: Journal, number: int, shard: Shard) -> _Part:
    part = _Part(journal, shard.model_copy(update={"number": number}), journal.outcomes())
    if journal.confirmation() is not None:
        raise UsageError(f"{part.name} holds a confirmation, which no shard makes.", "Run it again.")
    return part


def _soundness(parts: Sequence[_Part], total: int) -> SoundnessRecord | None:
    records = [(part, record) for part in parts if (record := part.journal.soundness()) is not None]
    problems: dict[str, str | None] = {}
    for part, record in records:
        if strange := sorted(record.problems.keys() - part.journal.manifest.problems.keys()):
            raise UsageError(
                f"{part.name} has a soundness record of {strange[0]!a}, which is not its problem.",
                "Restore its soundness.json, or run it again.",
            )
        problems |= record.problems
    if not problems:
        return None
    refuse_unsound(problems, total)
    return SoundnessRecord(checked=max(record.checked for _, record in records), problems=problems)


@contextmanager
def _new_folder(out: Path) -> Iterator[Path]:
    # The folder gets its name only at the end, so that an incomplete run is never visible.
    check_new_folder(out)
    try:
        out.parent.mkdir(parents=True, exist_ok=True)
        folder = Path(tempfile.mkdtemp(dir=out.parent, prefix=".codegate-"))
        try:
            yield folder
            folder.chmod(0o755)
            folder.rename(out)
        finally:
            shutil.rmtree(folder, ignore_errors=True)
    except OSError as error:
        raise InfrastructureError(f"cannot write {out}: {error.strerror or error}.", "Choose another --out.") from error


def _write(folder: Path, whole: RunManifest, parts: Sequence[_Part], soundness: SoundnessRecord | None) -> None:
    merged = Journal.create(folder, whole)
    made = {outcome.key: (outcome, part.journal) for part in parts for outcome in part.outcomes}
    with merged.writing():
        if soundness is not None:
            merged.record_soundness(soundness)
        if assurances := [found for part in parts for found in part.journal.assurances()]:
            merged.record_assurances(assurances)
        for part in parts:
            merged.calls.append_log(part.journal.calls)
            for name in part.journal.manifest.problems:
                if (record := part.journal.read_problem(name)) is not None:
                    merged.write_problem(name, record)
        for outcome, journal in (made[key] for key in whole.outcome_keys() if key in made):
            attempt = journal.read_attempt(*outcome.key)
            if attempt is not None:
                merged.write_attempt(attempt)
            merged.append(outcome)
