"""Merge the shards of a run; no outcome is lost or counted twice.

Shards are untrusted artifacts of other machines: what contradicts the plan, whose digest is part of the run's id, is
refused. A shard with forged outcomes of its own cannot be detected.
"""

import contextlib
import os
import shutil
import tempfile
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from codegate.errors import InfrastructureError, UsageError
from codegate.running.gate import Gate, settled_candidates
from codegate.running.journal import MANIFEST, MAX_JOURNAL_BYTES, OUTCOMES, Journal
from codegate.running.outcome import MAX_SHARDS, Outcome, Run, RunManifest, Shard, SoundnessRecord
from codegate.running.result import write_result
from codegate.running.shards import check_planned_gate, joined
from codegate.running.soundness import refuse_unsound

_RUNS: Final = Path("runs")
_OWN: Final = frozenset({"problems", "clusters", "tags", "created", "shard"})
"""What shards of one run may differ in."""


@dataclass(frozen=True)
class _Part:
    journal: Journal
    shard: Shard
    outcomes: tuple[Outcome, ...]

    @property
    def name(self) -> str:
        return f"shard {self.shard.words} ({self.journal.folder})"


def shard_folders(folders: Sequence[Path]) -> tuple[Path, ...]:
    """Return each folder that is a run, and the runs in each other folder.

    In a folder of downloaded artifacts a run is one level down, or in a folder ``run`` there, beside its reports.

    Raises:
        UsageError: a folder neither is nor holds a run, or holds too many.
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
    # An artifact may hold links.
    children = [child for child in sorted(folder.iterdir()) if not child.is_symlink()]
    places = [place for child in children for place in (child, child / "run") if not place.is_symlink()]
    return [place for place in places if os.path.lexists(place / MANIFEST)]


def merge_shards(
    folders: Sequence[Path], out: Path | None = None, *, run_id: str | None = None, gate: Gate | None = None
) -> Journal:
    """Write the run of the shards in ``folders``, in the order of the plan, and return its journal.

    Args:
        folders: one for each shard, in any order.
        out: new folder of the run; None makes ``runs/<id>``.
        run_id: the id that the run must have; None: that of the shards.
        gate: as the run was planned with.

    Raises:
        UsageError: a shard is missing, doubled, unfinished, broken, or of another run; names it.
        InfrastructureError: too many problems were not sound where the shards ran, or the disk refused.
    """
    parts = _complete([_opened(folder) for folder in folders], run_id)
    whole = joined([part.journal.manifest for part in parts])
    check_planned_gate(whole, gate)
    soundness = _soundness(parts, len(whole.problems))
    over = settled_candidates(Run(manifest=whole, outcomes=()), gate) if gate is not None else frozenset()
    unsound = {name: reason for name, reason in soundness.problems.items() if reason} if soundness is not None else {}
    for part in parts:
        _check_finished(part, unsound, over)
    with _new_folder(out or _RUNS / whole.id) as folder:
        _write(folder, whole, parts, soundness)
    return Journal.open(out or _RUNS / whole.id)


def _opened(folder: Path) -> tuple[Journal, Shard]:
    journal = Journal.open(folder)
    if journal.manifest.shard is None:
        raise UsageError(f"{folder} is a whole run, and no shard of one.", "Leave it out.")
    return journal, journal.manifest.shard


def _complete(found: Sequence[tuple[Journal, Shard]], run_id: str | None) -> list[_Part]:
    """Return the parts in order; refuse missing and doubled ones, and those of other runs."""
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
        few = ", ".join(missing[:20]) + (f" and {len(missing) - 20} more" if len(missing) > 20 else "")
        raise UsageError(
            f"of run {wanted} {len(missing)} of {shard.of} shards are missing: {few}.", "Run them, and merge again."
        )
    if sum(_size(journal) for journal in by_number.values()) > MAX_JOURNAL_BYTES:
        raise UsageError(f"the outcomes of all shards are larger than {MAX_JOURNAL_BYTES} bytes together.")
    return [_read(by_number[number], number, shard) for number in sorted(by_number)]


def _size(journal: Journal) -> int:
    try:
        return (journal.folder / OUTCOMES).lstat().st_size
    except OSError:
        return 0  # reading it raises the error


def _common(manifest: RunManifest) -> dict[str, Any]:
    return manifest.model_dump(mode="json", exclude=set(_OWN))


def _read(journal: Journal, number: int, shard: Shard) -> _Part:
    part = _Part(journal, shard.model_copy(update={"number": number}), journal.outcomes())
    if journal.confirmation() is not None:
        raise UsageError(f"{part.name} holds a confirmation, which no shard makes.", "Run it again.")
    return part


def _soundness(parts: Sequence[_Part], total: int) -> SoundnessRecord | None:
    """Return which problems were sound; None without checks. Raises where too many were not."""
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


def _check_finished(part: _Part, unsound: Mapping[str, str], over: Collection[str]) -> None:
    manifest = part.journal.manifest.without(unsound)
    wanted = {
        (candidate.key(), problem, sample)
        for problem, sample in manifest.planned()
        for candidate in manifest.candidates
        if candidate.key() not in over
    }
    made = len(wanted.intersection(outcome.key for outcome in part.outcomes))
    if made < len(wanted):
        raise UsageError(
            f"{part.name} is unfinished: {made} of {len(wanted)} outcomes.",
            "Finish it with `codegate run --resume`, or run it again.",
        )


@contextmanager
def _new_folder(out: Path) -> Iterator[Path]:
    """Yield a temporary folder, renamed to ``out`` at the end: an incomplete run is never visible."""
    if out.is_symlink() or (out.exists() and (not out.is_dir() or any(out.iterdir()))):
        raise UsageError(f"{out} exists already.", "Choose another --out.")
    try:
        out.parent.mkdir(parents=True, exist_ok=True)
        folder = Path(tempfile.mkdtemp(dir=out.parent, prefix=".codegate-"))
    except OSError as error:
        raise InfrastructureError(f"cannot write {out}: {error.strerror or error}.", "Choose another --out.") from error
    try:
        yield folder
        folder.chmod(0o755)
        folder.rename(out)
    except OSError as error:
        raise InfrastructureError(f"cannot write {out}: {error.strerror or error}.", "Choose another --out.") from error
    finally:
        with contextlib.suppress(OSError):
            shutil.rmtree(folder)


def _write(folder: Path, whole: RunManifest, parts: Sequence[_Part], soundness: SoundnessRecord | None) -> None:
    merged = Journal.create(folder, whole)
    made = {outcome.key: (outcome, part.journal) for part in parts for outcome in part.outcomes}
    with merged.writing():
        if soundness is not None:
            merged.record_soundness(soundness)
        if assurances := [found for part in parts for found in part.journal.assurances()]:
            merged.record_assurances(assurances)
        for part in parts:
            merged.take_calls(part.journal)
        for problem, sample in whole.planned():
            for candidate in whole.candidates:
                key = (candidate.key(), problem, sample)
                if key not in made:
                    continue
                outcome, journal = made[key]
                attempt = journal.read_attempt(*key)
                if attempt is not None:
                    merged.write_attempt(attempt)
                merged.append(outcome)
    write_result(merged.load(), folder)
