"""``codegate demo``: the main job from end to end on a bundled history, with real sandboxes and no key.

A small library's git history is unpacked and mined; a pinned candidate makes the baseline; a good and a worse one
are compared with it. The candidates are transcripts written by hand, and say so: nothing here measures a model.
"""

import shutil
import time
from importlib import resources
from pathlib import Path
from typing import Final

import click

import codegate
from codegate.candidates import CandidateSpec
from codegate.cli.demo_agent import PROBLEMS, gate_instructions
from codegate.cli.options import FOLDER, jobs_option, json_option, sandbox_option
from codegate.cli.output import columns, json_wanted, say
from codegate.cli.progress import mine_progress, run_progress
from codegate.errors import ExitCode, UsageError
from codegate.gating import GatePolicy
from codegate.mining import MineRequest
from codegate.operations import Report, gate, mine, mining_words, pin, samples_of
from codegate.reporting import render_console, render_json
from codegate.running import Gate, Journal, Run, RunOptions, RunSpec, new_run_id, run_suite
from codegate.sandbox import Choice, SandboxUnavailable, cache_folder, select_backend
from codegate.suite import git

_PROBLEMS: Final = 30
_MARK: Final = ".codegate-demo"
_MADE: Final = ("repository", "suite", "runs", "reports", "baseline.json", "codegate.lock")


@click.command()
@click.option("--out", type=FOLDER, default=Path("codegate-demo"), show_default=True, help="Folder of the demo.")
@click.option("--agent", is_flag=True, help="Gate a change of AGENTS.md, with a small agent, in place of models.")
@click.option("--fresh", is_flag=True, help="Prove every problem again, without the results of an earlier demo.")
@jobs_option
@sandbox_option
@json_option
def command(out: Path, agent: bool, fresh: bool, jobs: int, sandbox: Choice) -> ExitCode:
    """Mine a bundled history, run a good and a worse candidate, and gate both: one pass, one regressed.

    With --agent, a change of AGENTS.md that makes an agent worse, and one that does not, are gated instead.

    Exits 0 when the gate says exactly that, and 3 when it does not. With --sandbox auto, bubblewrap is preferred where
    it works: it needs no image. A later demo remembers the proofs of an earlier one of the same version, and says so.
    """
    started = time.monotonic()
    chosen = _quick_sandbox() if sandbox == "auto" else sandbox
    _clear(out)
    say(f"1. A library's history, unpacked into {out / 'repository'}")
    _unpack(out / "repository")
    say(f"2. Mining its bug fixes; every problem is proven by execution ({chosen} sandboxes, no network inside)")
    with mine_progress() as progress:
        # One round of each state, and the grader's word on the fix: the bundled history is known to hold no flake.
        memory = cache_folder() / "mining"
        request = MineRequest(
            name="quickstart",
            max_problems=PROBLEMS if agent else _PROBLEMS,
            jobs=jobs,
            rounds=1,
            memory=memory,
            fresh=fresh,
            sandbox=chosen,
        )
        mined = mine(out / "repository", out / "suite", request, progress)
    for line in mining_words(mined):
        say(f"   {line}")
    reports = dict(gate_instructions(out, _bundle(), chosen, say)) if agent else {"": _gate_models(out, chosen)}
    for report in reports.values():
        say(render_console(report.view, width=columns()))
        for verdict in report.verdicts:
            say(f"{verdict.label}: {verdict.kind.upper()}. {verdict.reason}")
        for name in ("html", "junit", "json"):
            say(f"{name:6} {report.files[name]}")
    say(f"Done in {time.monotonic() - started:.0f} s.")
    if json_wanted():
        click.echo(render_json(report.view))
    kinds = [verdict.kind for report in reports.values() for verdict in report.verdicts]
    return (
        ExitCode.PASS if kinds == (["regressed", "pass"] if agent else ["pass", "regressed"]) else ExitCode.INCONCLUSIVE
    )


def _gate_models(out: Path, chosen: Choice) -> Report:
    """Return the gate's report on two candidates that answer from a file."""
    say("3. The pinned candidate makes the baseline (its answers were written by hand, as are the next two)")
    pinned, _ = _run(out, "pinned", ("pinned",), chosen)
    # One sample of each: an answer that was written by hand is the same every time, and five copies prove no more.
    baseline, _ = pin([samples_of(pinned)], out / "baseline.json", out / "codegate.lock", min_samples=1)
    say("4. A good and a worse candidate, compared with it")
    _, journal = _run(out, "upgrade", ("good", "worse"), chosen)
    return gate(journal, Gate(baseline, GatePolicy()), reports=out / "reports")


def _quick_sandbox() -> Choice:
    """Prefer bubblewrap: the demo then needs no image."""
    try:
        select_backend("bwrap", new_run_id()).close()
    except SandboxUnavailable:
        return "auto"
    return "bwrap"


def _bundle() -> Path:
    packaged = Path(str(resources.files(codegate))) / "bundled" / "quickstart"
    return packaged if packaged.is_dir() else Path(codegate.__file__).parents[1] / "suites" / "quickstart"


def _clear(out: Path) -> None:
    """Make ``out`` ready: of an earlier demo, what it made is removed and nothing else."""
    if out.exists() and any(out.iterdir()) and not (out / _MARK).exists():
        raise UsageError(f"{out} exists and is no earlier demo.", "Choose another --out.")
    out.mkdir(parents=True, exist_ok=True)
    (out / _MARK).touch()
    for name in _MADE:
        path = out / name
        if path.is_dir() and not path.is_symlink():
            shutil.rmtree(path)
        else:
            path.unlink(missing_ok=True)


def _unpack(repository: Path) -> None:
    repository.mkdir()
    git(repository, "init", "--quiet", "--initial-branch=main", ".")
    git(repository, "fast-import", "--quiet", stdin=(_bundle() / "history.fast-export").read_bytes())
    git(repository, "reset", "--quiet", "--hard", "main")


def _run(out: Path, name: str, transcripts: tuple[str, ...], sandbox: Choice) -> tuple[Run, Journal]:
    candidates = [
        CandidateSpec(provider="replay", model=f"{transcript}.jsonl", name=f"{transcript} (handwritten)")
        for transcript in transcripts
    ]
    options = RunOptions(transcripts=_bundle() / "transcripts")
    wanted = RunSpec(out / "suite", candidates, sandbox=sandbox, out=out / "runs" / name, options=options)
    with run_progress() as progress:
        return run_suite(wanted, progress, lambda text: say(f"   {text}"))
