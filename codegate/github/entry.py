"""The action's entry point: inputs in, a run and its verdicts, outputs, summary and exit code out."""

import contextlib
import os
import traceback
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Final

from codegate.errors import CodegateError, ExitCode, Interrupted, UsageError
from codegate.gating import Verdict, load_pinned
from codegate.github.container import leave_to_child
from codegate.github.inputs import Inputs, OnInconclusive, inside, read_inputs
from codegate.github.workflow import Level, StepLog, fault_summary, open_log, write_outputs, write_summary
from codegate.reporting import (
    ReportView,
    build_view,
    gather,
    render_console,
    render_markdown,
    terms_of,
    write_reports,
)
from codegate.running import (
    CONFIG_NAME,
    Config,
    Gate,
    Progress,
    RunOptions,
    RunRequest,
    configuration,
    gate_run,
    named_candidates,
    run_exit_code,
    run_suite,
)

OUTPUTS: Final = (
    "pass-rate",
    "baseline-pass-rate",
    "difference",
    "problems",
    "report-path",
    "run-path",
    "exit-code",
    "verdict",
)
"""Every output of the action, in the order they are written: whoever sees the verdict sees all of them."""

_MOST_ANNOTATIONS: Final = 9  # GitHub shows ten of a level for each step
_LEVELS: Final[dict[OnInconclusive, Level]] = {"neutral": "warning", "pass": "notice", "fail": "error"}


@dataclass(frozen=True)
class _Result:
    """What the step says: its exit code before ``on_inconclusive``, outputs, summary and annotations."""

    code: ExitCode
    outputs: dict[str, str]
    summary: str
    annotations: tuple[tuple[Level, str, str], ...] = field(default=())
    on_inconclusive: OnInconclusive = "fail"


def run_action(environment: Mapping[str, str]) -> ExitCode:
    """Run the action in ``environment`` (the process's own) and return the exit code of the step.

    Outputs, summary and annotations are written however it ends, and nothing that is printed meanwhile can give the
    runner a command. An error that codegate did not expect is a bug: it says so, and ends with 4.
    """
    if os.getpid() == 1:
        leave_to_child()
    with open_log(environment) as step:
        inputs: Inputs | None = None
        try:
            inputs = _fresh(read_inputs(environment))
            result = _run(inputs, step)
        except CodegateError as error:
            result = _fault(error)
        except KeyboardInterrupt:
            result = _fault(Interrupted("the step was cancelled."))
        except Exception:
            result = _bug(step, traceback.format_exc())
        if inputs is not None:
            _give_back(inputs)
            result = replace(result, outputs=_with_paths(result.outputs, inputs))
        return _conclude(step, environment, result)


def _run(inputs: Inputs, step: StepLog) -> _Result:
    settings, home = _settings(inputs)

    def configured(value: str | None, key: str) -> Path | None:
        return inside(inputs.workspace, str(home / value), f"`{key}` in the configuration") if value else None

    suite = inputs.suite or configured(settings.suite, "suite")
    if suite is None:
        raise UsageError("no suite was given.", "Set the input `suite`, or `suite` in the configuration.")
    lock = inputs.baseline
    if lock is None:
        named = configured(settings.baseline, "baseline")
        lock = named if settings.gates_with(home / settings.baseline) else None
    # A broken one is found before anything is spent.
    gate = Gate(load_pinned(lock), settings.gate) if lock is not None else None
    options = RunOptions(
        models=inputs.models or settings.concurrency.models,
        sandboxes=inputs.jobs or settings.concurrency.sandboxes,
        max_model_calls=inputs.max_model_calls or settings.max_model_calls,
        budget_usd=settings.budget_usd,
        repository=inputs.repository or configured(settings.repository, "repository"),
        transcripts=inputs.workspace if inputs.candidates else home,
    )
    samples = inputs.samples or settings.samples
    request = RunRequest(
        suite,
        settings.candidates,
        samples,
        "docker",
        out=_run_folder(inputs),
        options=options,
        prices=settings.prices,
        gate=gate,
    )
    run, journal = run_suite(request, lambda progress: step.log(_progress_line(progress)), step.log)
    verdicts = gate_run(run, lock, settings.gate) if lock else ()
    stored = gate.baseline.samples if gate is not None else None
    view = build_view([run], verdicts, gather([journal], stored, terms_of(settings)))
    write_reports(view, inputs.reports)
    step.log(render_console(view))
    code = run_exit_code(run, verdicts)
    wanted: OnInconclusive = "neutral" if settings.gate.on_inconclusive == "extend" else settings.gate.on_inconclusive
    wanted = inputs.on_inconclusive or wanted
    return _Result(
        code,
        _figures(view, verdicts, code),
        render_markdown(view),
        _annotations(verdicts, code, wanted),
        wanted,
    )


def _settings(inputs: Inputs) -> tuple[Config, Path]:
    """Return the configuration and the folder that its paths are relative to; candidates given by name win."""
    default = inside(inputs.workspace, CONFIG_NAME, CONFIG_NAME)
    candidates = named_candidates(inputs.candidates, "input `candidates`")
    if not candidates and inputs.config is None and not default.exists():
        raise UsageError("no candidate was given.", f"Set the input `candidates`, or write {CONFIG_NAME}.")
    return configuration(candidates, inputs.config, default)


def _progress_line(step: Progress) -> str:
    return f"[{step.done}/{step.total}] {step.candidate}: {step.outcome.problem} {step.outcome.words()}"


def _deciding(verdicts: Sequence[Verdict], code: ExitCode) -> Verdict | None:
    """Return the verdict that the exit code comes from: of several candidates the worst one decides."""
    return next((verdict for verdict in verdicts if verdict.exit_code == code), None)


def _figures(view: ReportView, verdicts: Sequence[Verdict], code: ExitCode) -> dict[str, str]:
    def rate(value: float | None) -> str:
        return "" if value is None else f"{value:.4f}"

    verdict = _deciding(verdicts, code)
    if verdict is None:
        share = view.candidates[0].pass_rate
        kind = "ungated" if code == ExitCode.PASS else "infrastructure"
        return {"pass-rate": rate(share.value), "problems": str(share.n), "verdict": kind}
    return {
        "pass-rate": rate(verdict.candidate_rate),
        "baseline-pass-rate": rate(verdict.baseline_rate),
        "difference": rate(verdict.difference),
        "problems": str(verdict.problems),
        "verdict": verdict.kind,
    }


def _annotations(
    verdicts: Sequence[Verdict], code: ExitCode, on_inconclusive: OnInconclusive
) -> tuple[tuple[Level, str, str], ...]:
    if not verdicts:
        if code != ExitCode.PASS:
            return (("error", "codegate: infrastructure", "Some attempts have no grade; the summary says why."),)
        return (("notice", "codegate: ungated", "There is no baseline, so nothing was compared."),)
    found: list[tuple[Level, str, str]] = []
    for verdict in verdicts:
        if verdict.kind != "pass":
            level = _LEVELS[on_inconclusive] if verdict.exit_code == ExitCode.INCONCLUSIVE else "error"
            found.append((level, f"codegate: {verdict.kind}", f"{verdict.label}: {verdict.reason}"))
    return tuple(sorted(found, key=lambda entry: entry[0] != "error"))


def _fault(error: CodegateError) -> _Result:
    kind = {ExitCode.INFRASTRUCTURE: "infrastructure", ExitCode.INTERRUPTED: "interrupted"}.get(
        error.exit_code, "error"
    )
    text = str(error)
    return _Result(
        error.exit_code, {"verdict": kind}, fault_summary(kind, text), (("error", f"codegate: {kind}", text),)
    )


def _bug(step: StepLog, trace: str) -> _Result:
    step.log(trace)
    last = trace.strip().rpartition("\n")[2][:500]
    text = f"this is a bug in codegate; please report it with the traceback in the log. {last}"
    return _Result(ExitCode.INFRASTRUCTURE, {"verdict": "error"}, fault_summary("error", text), (
        ("error", "codegate: error", text),
    ))  # fmt: skip


def _conclude(step: StepLog, environment: Mapping[str, str], result: _Result) -> ExitCode:
    try:
        write_summary(environment, result.summary)
        _write_outputs(environment, result)
    except CodegateError as error:
        result = replace(_fault(error), outputs=result.outputs | {"verdict": "infrastructure"})
        with contextlib.suppress(CodegateError):
            _write_outputs(environment, result)
    for level, title, message in result.annotations[:_MOST_ANNOTATIONS]:
        step.annotate(level, title, message)
    if more := result.annotations[_MOST_ANNOTATIONS:]:
        step.annotate(more[0][0], "codegate", f"{len(more)} more candidates; see the summary.")
    neutral = result.code == ExitCode.INCONCLUSIVE and result.on_inconclusive != "fail"
    return ExitCode.PASS if neutral else result.code


def _write_outputs(environment: Mapping[str, str], result: _Result) -> None:
    outputs = result.outputs | {"exit-code": str(int(result.code))}
    write_outputs(environment, {name: outputs.get(name, "") for name in OUTPUTS})


def _run_folder(inputs: Inputs) -> Path:
    return inputs.reports / "run"


def _fresh(inputs: Inputs) -> Inputs:
    """Refuse a run folder that is there: another step's, or a link that a stranger's branch brought."""
    if os.path.lexists(_run_folder(inputs)):
        raise UsageError(
            f"{_for_later_steps(_run_folder(inputs), inputs)} exists already.",
            "Give every step that runs codegate its own `report-path`, and commit none of it.",
        )
    return inputs


def _for_later_steps(path: Path, inputs: Inputs) -> str:
    """Return ``path`` relative to the workspace: outside of this container the workspace is another folder."""
    return path.relative_to(inputs.workspace).as_posix()


def _with_paths(outputs: dict[str, str], inputs: Inputs) -> dict[str, str]:
    run = _run_folder(inputs)
    return {
        **outputs,
        "report-path": _for_later_steps(inputs.reports, inputs) if inputs.reports.is_dir() else "",
        "run-path": _for_later_steps(run, inputs) if (run / "run.json").is_file() else "",
    }


def _give_back(inputs: Inputs) -> None:
    """Give what was written to the owner of the workspace: root's files would break the next checkout there."""
    if os.geteuid() != 0 or not inputs.reports.is_dir():
        return
    owner = inputs.workspace.stat()
    folders = [inputs.reports, *(p for p in inputs.reports.parents if p.is_relative_to(inputs.workspace))]
    with contextlib.suppress(OSError):
        for folder in folders:
            os.lchown(folder, owner.st_uid, owner.st_gid)
        for parent, names, files in os.walk(inputs.reports):
            for name in (*names, *files):
                os.lchown(Path(parent) / name, owner.st_uid, owner.st_gid)
