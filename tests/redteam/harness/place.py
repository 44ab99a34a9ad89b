"""Where an attack happens: a suite, a finished run, a pinned baseline; and what every attack is judged by."""

import json
import os
import re
import shutil
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, Final

from codegate.candidates import CandidateSpec
from codegate.gating import RunSamples, pin
from codegate.gating.baseline import write_baseline, write_lock
from codegate.grading import Grade
from codegate.running import Journal, Outcome, candidate_samples, load_run, plan_run
from codegate.solving import AttemptSummary
from codegate.suite import load_suite
from tests.kit.command import Done
from tests.running.world import make_suite

OUTSIDE: Final = "what-lies-outside-4711"
SENTINEL: Final = "sk-sentinel-Vq3/Tz8+Wn5=Lp2Rb7Xc9"
SECRETS: Final = {
    "OPENAI_API_KEY": SENTINEL,
    "ANTHROPIC_API_KEY": SENTINEL,
    "GITHUB_TOKEN": SENTINEL,
    "CODEGATE_IMAGES": "",
}

_SLOW: Final = 20.0
# As GitHub's runner finds them.
_COMMAND: Final = re.compile(r"^\s*::\w|##\[", re.MULTILINE)
_ACTS: Final = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u200b-\u200f\u202a-\u202e\u2066-\u2069\ufeff]")


@dataclass(frozen=True)
class Order:
    """A command and what has to come of it.

    Attributes:
        arguments: of ``codegate``; the folder is the attack's own.
        words: in the one line that the refusal is.
        code: the exit code.
        environment: variables over those of this process, and over the planted secrets.
        check: returns what is wrong beyond that, or nothing.
    """

    arguments: tuple[str | Path, ...]
    words: str
    code: int = 2
    environment: Mapping[str, str] = field(default_factory=dict)
    check: Callable[[Done], str] | None = None


class Place:
    """A folder of an attack's own, with ``suite``, ``repository``, ``run``, ``baseline.json`` and ``codegate.lock``."""

    def __init__(self, folder: Path) -> None:
        self.home = folder
        self.suite = folder / "suite"
        self.run = folder / "run"
        self.problem = self.suite / "problems" / "calc-half"
        self.outside = folder.parent / "outside"

    def replace(self, path: Path, old: str, new: str) -> None:
        """Replace ``old`` in a text file, where it has to be."""
        text = path.read_text()
        assert old in text, (path, old)
        path.write_text(text.replace(old, new))

    def write(self, name: str, data: str | bytes) -> None:
        """Write a file of the folder."""
        (self.home / name).write_bytes(data if isinstance(data, bytes) else data.encode())

    def change_json(self, name: str, **changes: Any) -> None:
        """Change keys of a file of the folder."""
        self.write(name, json.dumps({**json.loads((self.home / name).read_text()), **changes}))

    def swap(self, path: Path, kind: str) -> Path:
        """Put something else in the place of a file: a pipe, a device, a link, holes, a folder."""
        if path.is_dir() and not path.is_symlink():
            shutil.rmtree(path)
        path.unlink(missing_ok=True)
        path.parent.mkdir(parents=True, exist_ok=True)
        match kind:
            case "pipe":
                os.mkfifo(path)
            case "device":
                path.symlink_to("/dev/zero")
            case "link":
                path.symlink_to(self.outside / "file")
            case "holes":
                with path.open("wb") as file:
                    file.truncate(1 << 40)
            case "folder":
                path.mkdir()
        return path


Attack = Callable[[Place], Order]
Check = Callable[[Place, Done], str]


def attack(
    arguments: tuple[str, ...], words: str, change: Callable[[Place], object], code: int = 2, check: Check | None = None
) -> Attack:
    """Return an attack that changes the place and runs a command; ``check`` returns what is wrong beside its end."""

    def order(place: Place) -> Order:
        change(place)
        return Order(arguments, words, code, check=check and partial(check, place))

    return order


def build(folder: Path) -> None:
    """Make the place that every attack gets a copy of."""
    make_suite(folder)
    suite = load_suite(folder / "suite")
    specs = (CandidateSpec(provider="reference"), CandidateSpec(provider="empty"))
    journal = Journal.create(folder / "run", plan_run(suite, specs, 1, "bwrap", "20260101T000000Z-abcdef"))
    with journal.writing():
        for spec in specs:
            for problem in suite.active:
                solved = spec.provider == "reference"
                failure = None if solved else "no_patch"
                journal.append(
                    Outcome(
                        problem=problem.id,
                        problem_digest=problem.digest,
                        candidate=spec.key(),
                        sample=0,
                        attempt=AttemptSummary(solver=spec.provider, prompt_version="none"),
                        grade=Grade(resolved=solved, score=100 * solved, tests_total=1, failure=failure),
                    )
                )
    run = load_run(folder / "run")
    part = RunSamples(
        run.manifest.id, run.manifest.created, run.manifest.suite_digest, specs[0], candidate_samples(run, specs[0])
    )
    write_baseline(folder / "baseline.json", pin([part], min_samples=1))
    write_lock(folder / "codegate.lock", folder / "baseline.json")


def judge(order: Order, done: Done) -> str:
    """Return what is wrong with how the command ended, or nothing."""
    said = done.stdout + done.stderr
    refusals = [line for line in done.stderr.splitlines() if line.startswith("codegate: ")]
    step = order.arguments == ("action",)  # its refusals are annotations
    faults = [
        "it had to be killed" if done.code is None else "",
        f"exit {done.code}" if done.code != order.code else "",
        f"{done.seconds:.0f} s" if done.seconds > _SLOW else "",
        "a traceback" if "Traceback" in said else "",
        f"{len(refusals)} lines of refusal"
        if order.code == 2 and order.words and not step and len(refusals) != 1
        else "",
        "other words" if order.words and order.words not in said else "",
        "a secret was shown" if any(part in said for part in _parts(SENTINEL)) else "",
        "what lies outside was shown" if OUTSIDE in said else "",
        "a workflow command" if _COMMAND.search(said) and not step else "",
        "a terminal would act on it" if _ACTS.search(said) else "",
        f"{len(said)} characters" if len(said) > 20_000 else "",
        order.check(done) if order.check is not None else "",
    ]
    wrong = "; ".join(filter(None, faults))
    return f"{wrong}: {refusals[-1] if refusals else said[-200:]}" if wrong else ""


def _parts(secret: str) -> set[str]:
    return {secret[start : start + 10] for start in range(len(secret) - 9)}
