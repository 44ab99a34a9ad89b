"""``codegate run``: run candidates on a suite and gate them."""

import shlex
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Final

import click
from click.core import ParameterSource

from codegate.cli.options import Argument, as_command
from codegate.cli.output import json_wanted, note
from codegate.cli.policy import print_report, project_by_request
from codegate.cli.progress import run_progress
from codegate.errors import UNWRITTEN, ExitCode, interrupted_as
from codegate.gating.pinning import MIN_SAMPLES
from codegate.operations.requests import RunRequest, project_here, requested_run, resumed_project
from codegate.operations.runs import run
from codegate.reporting import terms_of
from codegate.running import Journal
from codegate.running.shards import shard_choice
from codegate.strict import Folder
from codegate.suite import SANDBOX
from codegate.wording import count_of

_PLANNED: Final = frozenset({
    "samples", "out", "resume", "limit", "problems", "shard", "run_id", "predictions", "label", "pilot", "drop", "like",
})  # fmt: skip
"""Parameters of ``codegate run`` that a continued run reads from its plan, or that only ``codegate plan`` has."""


@as_command()
def command(suite: Annotated[Folder | None, Argument()] = None, *, request: RunRequest) -> ExitCode:
    """Run candidates on SUITE, and gate them.

    They are compared with the pinned baseline if there is one. It is the baseline that --baseline names, else
    `baseline` in codegate.yml, else codegate.lock; only codegate.lock may be missing. A gated run computes its verdicts
    after each sample of every problem, and stops sampling candidates whose verdict is settled. Without a baseline the
    critical floors of `gate.cohorts` in codegate.yml decide, with `gate.must_pass`. Without floors the exit code is 0
    if every outcome has a grade, and 4 if infrastructure faults left some without. A run that --max-model-calls,
    --max-minutes or --budget-usd stopped exits 2 and can be resumed.

    With --predictions the answers were made elsewhere: each model in the file is a candidate, no model is called, and
    no key is needed. All samples in the file are graded. A problem that the file leaves out counts as an empty answer.

    With --rules-from only the candidates and their prices are those of the work tree. Suite, baseline, policy and
    limits are those of a commit, and keys go where its configuration sends them: a proposal cannot pass itself.

    With --limit or --problem only some problems are run. Such a run gets no verdict and cannot be pinned.

    With --shard only one part of the problems is run, without a comparison: `codegate merge` joins the parts and gates
    the whole run. A shard makes a fixed number of samples (three for a gate, or --samples), and gets its part of
    --max-model-calls and --budget-usd, by its number of problems.
    """
    with interrupted_as(UNWRITTEN):
        choice, resume = shard_choice(request.shard, request.run_id), request.resume
        planned = Journal.open(resume).manifest if resume is not None else None
        partial = request.is_restricted or (planned is not None and planned.part is not None)
        asked = request.baseline is not None or request.rules_from is not None
        ungated = planned is not None and planned.no_gate and not asked
        gated = not (request.no_gate or ungated or partial)
        project = project_by_request(request, suite)
        project = project or project_here(request, suite, gated=gated, alone=resume is not None)
        if resume is not None:
            project = resumed_project(request, resume, project)
        spec = requested_run(request, project)
    spec = replace(
        spec,
        options=spec.options.model_copy(update={"precheck": not request.no_precheck}),
        sandbox=spec.sandbox if request.sandbox == "auto" else request.sandbox,
        out=request.out,
        resume=resume,
        gate=spec.gate if gated else None,
        shard=choice,
        problems=request.problems,
        limit=request.limit,
        command=command_again(),
    )
    first: list[str] = []
    lock = (request.config.parent if request.config is not None else Path()) / project.settings.baseline
    if partial:
        first.append("not gated: a run of some problems cannot be compared with a baseline")
    elif ungated and not request.no_gate:
        first.append(f"not gated: the run was started with --no-gate (`codegate gate {resume}` compares it)")
    elif spec.baseline is None and not request.no_gate:
        alone = "gated by floors alone" if spec.gate is not None else "not gated"
        first.append(f"{alone}: there is no {lock} (codegate baseline pin writes it)")
    made = spec.samples or 1
    unpinned = (
        spec.baseline is None and request.rules_from is None and resume is None and choice is None and not partial
    )
    if unpinned and made < MIN_SAMPLES:
        first.append(f"{count_of(made, 'sample')} per problem: pinning needs {MIN_SAMPLES} or more (--samples 10)")

    def announce(text: str) -> None:
        while first:  # notes are shown late, because a refused request needs none
            note(first.pop(0))
        note(text)

    with run_progress() as progress:
        report = run(spec, progress, announce, reports=request.reports, terms=terms_of(project.settings))
    if report.run.manifest.shard is not None:
        settled = ", and says why a candidate got no sample" * (report.exit_code == ExitCode.INCONCLUSIVE)
        note(f"shard {report.run.manifest.shard.words} is done: `codegate merge` puts the shards together{settled}")
    code = print_report(report)
    differing = {one.field: one.baseline for verdict in report.verdicts for one in verdict.mismatches}
    if differing.keys() == {SANDBOX} and resume is None:
        again = (*command_again("sandbox"), "--sandbox", differing[SANDBOX])
        note(f"Next, in the baseline's sandbox:\n  {shlex.join(again)}")
    if code == ExitCode.INFRASTRUCTURE:
        again = (*command_again(), "--resume", str(report.folder))
        note(f"Next, to repeat what the faults took:\n  {shlex.join(again)}")
    if unpinned and code == ExitCode.PASS and made >= MIN_SAMPLES and len(spec.candidates) == 1 and not lock.exists():
        note(f"Next: codegate baseline pin {shlex.quote(str(report.folder))}")
    return code


def command_again(*without: str) -> tuple[str, ...]:
    """Return the words of the command that continues this run.

    The given options are repeated, except the parameters ``without``; the caller adds the run's folder.
    """
    context = click.get_current_context()
    words = ["codegate", "run"]
    for one in context.command.params:
        name = one.name or ""
        given = context.get_parameter_source(name) is ParameterSource.COMMANDLINE
        if not given or not one.expose_value or name in _PLANNED.union(without):
            continue
        value = context.params[name]
        for each in value if one.multiple else (value,):
            words += [one.opts[0]] * isinstance(one, click.Option) + [str(each)] * (each is not True)
    return (*words, *["--json"] * json_wanted())
