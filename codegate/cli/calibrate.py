"""``codegate calibrate``: measure the gate's false alarms."""

from dataclasses import asdict
from typing import Annotated

from pydantic import Field

from codegate.cli.options import Argument, OneCandidate, PolicyFile, as_command
from codegate.cli.output import emit, say
from codegate.cli.policy import read_settings
from codegate.errors import ExitCode, UsageError
from codegate.gating import load_pinned, pool
from codegate.gating.power import Calibration, calibrate
from codegate.operations.baselines import read_runs
from codegate.strict import File, Folder
from codegate.wording import count_of


@as_command()
def command(
    runs: Annotated[tuple[Folder, ...], Argument("[RUN ...]")] = (),
    name: OneCandidate = None,
    baseline: Annotated[
        File | None, "Without RUN: the baseline's lock; default: as configured, or codegate.lock."
    ] = None,
    splits: Annotated[int, Field(ge=1, le=20_000), "Number of random splits."] = 400,
    seed: Annotated[int, "Seed of the random splits."] = 0,
    config: PolicyFile = None,
) -> ExitCode:
    """Gate one model against itself and count the false alarms.

    The model's samples are split at random into halves, and one half is gated against the other. No model is called.

    RUN: folders of finished runs of one candidate, with at least four samples per problem together; default: the pinned
    baseline. Exits 3 if the gate alarms more often than the policy's alpha promises.
    """
    settings, home = read_settings(config)
    if runs and baseline is not None:
        raise UsageError("runs and --baseline exclude each other.", "Give one of the two.")
    samples = pool(read_runs(runs, name)) if runs else load_pinned(baseline or home / settings.baseline).samples
    found = calibrate(samples, settings.gate, splits=splits, seed=seed)
    say(f"{samples.label} ({samples.model}) against itself")
    say(*_words(found, settings.gate.margin))
    emit({"schema": "codegate.calibration/1", "model": samples.model, "kept": found.kept, **asdict(found)})
    return ExitCode.PASS if found.kept else ExitCode.INCONCLUSIVE


def _words(found: Calibration, margin: float) -> list[str]:
    half = str(found.half[0]) if found.half[0] == found.half[1] else f"{found.half[0]} to {found.half[1]}"
    drop = "no drop" if found.detectable_drop is None else f"a drop of {found.detectable_drop * 100:.1f} pp or more"
    lines = [
        f"false alarms: {found.alarms} of {found.splits} random splits of {found.problems} problems x {half} against "
        f"{half} samples: {found.share:.1%} [{found.low:.1%}–{found.high:.1%}]; at most {found.alpha:.3g} is promised",
        f"passed: {found.passes} of {found.splits}; the rest was inconclusive",
        f"noise: one sample has a variance of {found.noise:.3f}, a run with one sample per problem a standard "
        f"deviation of {found.run_noise * 100:.1f} pp (n={found.problems} problems)",
        f"power: with all of these samples as its baseline a gate ({margin * 100:g} pp) finds {drop} in 4 of 5 cases",
    ]
    if found.left_out:
        lines.append(f"left out: {count_of(found.left_out, 'problem')} with fewer than four independent samples")
    if not found.kept:
        lines.append("warning: that is more than promised; samples of a problem may not be independent of each other")
    return lines
