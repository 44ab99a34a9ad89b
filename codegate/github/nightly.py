"""Mode ``nightly``: check whether the pinned model got worse."""

import itertools
from pathlib import Path
from typing import Final

from codegate.candidates import model_shutdowns
from codegate.durable import write_atomic
from codegate.errors import ExitCode
from codegate.forge import Gone
from codegate.gating.decision import Terms
from codegate.gating.history import read_history
from codegate.gating.people import read_people
from codegate.github.artifacts import (
    BadArchive,
    Untrusted,
    check_workflow_run,
    default_branch,
    download_artifact,
    own_artifacts,
    read_members,
)
from codegate.github.event import UNKNOWN_WORKFLOW
from codegate.github.modes import log_report, progress_to, run_spec
from codegate.github.step import Annotation, Job, Result, step_outputs
from codegate.github.workflow import notes_summary
from codegate.operations import baselines, runs
from codegate.operations.rules import Project, Skipped, check_destinations
from codegate.reporting import render_dashboard, render_markdown, terms_of
from codegate.reporting.markdown import escape
from codegate.running import CONFIG_NAME
from codegate.running.config import with_user_prices
from codegate.wording import count_of

HISTORY: Final = "history.jsonl"
DASHBOARD: Final = "dashboard/index.html"
"""Path of the dashboard; its folder has nothing else, so a job can publish the folder."""
_MAX_HISTORY_BYTES: Final = 32 << 20
_MAX_ARCHIVE_BYTES: Final = 1 << 30
_NIGHTS_TRIED: Final = 30
"""Most artifacts that are searched for a history. The watch begins anew without one, and nights can fail for two weeks.
"""
SOON_DAYS: Final = 30
"""A nightly run first reports a model that ends within so many days."""
_REMEDY: Final = "Pin its successor while both answer: `codegate upgrades` proposes one."


def nightly(job: Job, project: Project) -> Result:
    """Run the pinned model; compare with baseline and past nights."""
    if project.pinned is None:
        raise Skipped(
            "no baseline is pinned, so there is nothing to watch.",
            "Pin one with `codegate baseline pin RUN`.",
        )
    inputs, pinned = job.inputs, project.pinned.baseline
    if pinned.spec.provider == "predictions":
        raise Skipped(
            f"the answers of {pinned.spec.label} came from a file, so there is no model to watch.",
            "Pin a run of a model, or leave out the nightly workflow.",
        )
    check_destinations((pinned.spec,), project.trusted, inputs.config or CONFIG_NAME)
    history = inputs.reports / HISTORY
    inputs.reports.mkdir(parents=True, exist_ok=True)
    _fetch_history(job, history)
    spec = with_user_prices(pinned.spec, project.settings.candidates, project.settings.prices)
    night = run_spec(job, project, candidates=(spec,), samples=inputs.samples or 1, gated=False)
    terms = terms_of(project.settings)
    ends = model_shutdowns((spec,))
    for end in ends:  # logged before the run, which fails if the model is gone
        job.log.log(end.words)
    report = runs.run(night, progress_to(job), job.log.log, reports=inputs.reports, terms=terms, baseline=pinned)
    log_report(job, project, report)
    outputs = step_outputs(report.view, report.exit_code)
    baselines.append_runs(history, [report.run])
    found = baselines.watch(history, pinned)
    page = inputs.reports / DASHBOARD
    page.parent.mkdir(exist_ok=True)
    write_atomic(page, render_dashboard(read_history(history), found.alarms, read_people(history)).encode("utf-8"))
    compared = any(report.run.manifest.id in night.runs for night in found.nights)
    # A night without a comparison is no recovery, so it closes no issue.
    kind, code = ("pass", ExitCode.PASS) if compared else ("incomparable", ExitCode.INCONCLUSIVE)
    # The drop of earlier nights was reported then, so it decides no night without a comparison.
    if found.pages and (compared or any(alarm.kind == "snapshot" for alarm in found.alarms)):
        kind, code = "regressed", ExitCode.REGRESSED
    elif not compared and report.exit_code != ExitCode.PASS:
        kind, code = "infrastructure", report.exit_code
    alarms: tuple[Annotation, ...] = tuple(
        ("error" if alarm.level == "page" else "warning", "codegate", alarm.text) for alarm in found.alarms
    )
    headline = f"nightly, {kind}"
    policy = project.settings.gate
    fewest = Terms(policy, policy.looks, 1).fewest_problems
    if compared and (count := found.nights[-1].alone.n) < fewest:
        headline += f" on too few problems: {count}, and a gate's pass takes at least {fewest}"
        alarms = (("warning", "codegate", f"{headline}."), *alarms)
    words = [f"{end.words}. {_REMEDY}" if end.within(SOON_DAYS) else end.words for end in ends]
    alarms += tuple(("warning", "codegate", text) for text in words)
    if soon := next((end for end in ends if end.within(SOON_DAYS)), None):
        headline = f"{escape(soon.words)}; {headline}"
        alarms = (*alarms[-len(words) :], *alarms[: -len(words)])
    notes = notes_summary([*(alarm.text for alarm in found.alarms), *words])
    summary = f"## codegate: {headline}\n{notes}\n{render_markdown(report.view)}"
    return Result(code, outputs | {"verdict": kind}, summary, alarms, inputs.on_inconclusive or "fail", report.view)


def _fetch_history(job: Job, history: Path) -> None:
    """Download the newest trusted run's history, if there is one."""
    github, event = job.github, job.event
    if event is None or github is None:
        return
    if not event.workflow_path:
        job.log.warn(f"no earlier night is looked for: {UNKNOWN_WORKFLOW}")
        return
    branch, name, tried = default_branch(github, event), job.inputs.artifact_name, 0
    for artifact in itertools.islice(own_artifacts(github, name, branch), _NIGHTS_TRIED):
        tried += 1
        try:
            # A night that raised an alarm ended as a failure; its history is as good as any other.
            check_workflow_run(github, artifact, branch, event.workflow_path, {"success", "failure"})
            data = download_artifact(github, artifact, _MAX_ARCHIVE_BYTES)
            for _, found in read_members(data, {HISTORY}.__contains__, _MAX_HISTORY_BYTES, str(artifact)):
                history.write_bytes(found)
                return
            job.log.log(f"{artifact} has no {HISTORY}")
        except (Untrusted, Gone) as error:
            job.log.log(f"{artifact} is not taken: {error.cause}")
        except BadArchive as error:
            job.log.warn(f"a night is lost: {error.cause}")
    if not tried:
        job.log.log("no earlier night was found: the watch begins with this one")
        return
    words = f"of {count_of(tried, 'earlier night')} none has a history that can be used, and the log says why"
    job.log.warn(f"the watch begins with this night: {words}.")
