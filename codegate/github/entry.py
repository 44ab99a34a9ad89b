"""The action's entry point: inputs in, a run and its verdicts, outputs, summary and exit code out."""

from collections.abc import Mapping, Sequence
from pathlib import Path

from codegate.candidates import parse_candidate
from codegate.errors import CodegateError, ExitCode, UsageError
from codegate.gating import GatePolicy, Verdict
from codegate.github.inputs import Inputs, OnInconclusive, read_inputs
from codegate.github.workflow import annotate, log, write_outputs, write_summary
from codegate.reporting import ReportView, build_view, render_console, render_markdown, write_reports
from codegate.running import (
    Config,
    Progress,
    RunOptions,
    RunRequest,
    check_candidate,
    gate_run,
    load_config,
    run_exit_code,
    run_suite,
)


def run_action(environment: Mapping[str, str]) -> ExitCode:
    """Run the action in ``environment`` (the process's own) and return the exit code of the step.

    Outputs and summary are written whatever happens; an error that codegate can explain becomes an annotation.
    """
    try:
        inputs = read_inputs(environment)
        view, verdicts, code, folder = _run(inputs)
    except CodegateError as error:
        kind = "infrastructure" if error.exit_code == ExitCode.INFRASTRUCTURE else "error"
        annotate("error", "codegate", str(error))
        write_outputs(environment, {"verdict": kind, "exit-code": str(int(error.exit_code))})
        return error.exit_code
    log(render_console(view))
    write_summary(environment, render_markdown(view))
    code = _after_inconclusive(code, inputs.on_inconclusive)
    for verdict in verdicts:
        if verdict.kind != "pass":
            annotate("error" if code else "warning", f"codegate: {verdict.kind}", verdict.reason)
    write_outputs(environment, _outputs(verdicts, inputs.reports, folder, code))
    return code


def _run(inputs: Inputs) -> tuple[ReportView, tuple[Verdict, ...], ExitCode, Path]:
    settings, home = _settings(inputs)
    suite = inputs.suite or (home / settings.suite if settings.suite else None)
    if suite is None:
        raise UsageError("no suite was given.", "Set the input `suite`, or `suite` in the configuration.")
    options = RunOptions(
        models=inputs.models or settings.concurrency.models,
        sandboxes=inputs.jobs or settings.concurrency.sandboxes,
        max_model_calls=inputs.max_model_calls or settings.max_model_calls,
        repository=inputs.repository or (home / settings.repository if settings.repository else None),
        transcripts=home,
    )
    sandbox = inputs.sandbox if inputs.sandbox != "auto" else settings.sandbox
    out = inputs.reports / "run"
    request = RunRequest(
        suite, settings.candidates, inputs.samples or settings.samples, sandbox, out=out, options=options
    )
    run, _ = run_suite(request, _log_progress, log)
    verdicts = gate_run(run, inputs.baseline, settings.gate) if inputs.baseline else ()
    view = build_view([run], verdicts)
    write_reports(view, inputs.reports)
    return view, verdicts, run_exit_code([run], verdicts), out


def _settings(inputs: Inputs) -> tuple[Config, Path]:
    candidates = tuple(parse_candidate(text) for text in inputs.candidates)
    for candidate in candidates:
        check_candidate(candidate, "input `candidates`")
    if inputs.config is None:
        if not candidates:
            raise UsageError("no candidate was given.", "Set the input `candidates` or `config`.")
        return Config(candidates=candidates, gate=GatePolicy()), Path.cwd()
    settings = load_config(inputs.config)
    return settings.model_copy(update={"candidates": candidates} if candidates else {}), inputs.config.parent


def _log_progress(step: Progress) -> None:
    if step.done == step.total or step.outcome.grade is None or step.done % 10 == 0:
        log(f"[{step.done}/{step.total}] {step.candidate}: {step.outcome.problem}")


def _after_inconclusive(code: ExitCode, policy: OnInconclusive) -> ExitCode:
    return ExitCode.PASS if code == ExitCode.INCONCLUSIVE and policy != "fail" else code


def _outputs(verdicts: Sequence[Verdict], reports: Path, run: Path, code: ExitCode) -> dict[str, str]:
    first = verdicts[0] if verdicts else None

    def rate(value: float | None) -> str:
        return "" if value is None else f"{value:.4f}"

    return {
        "pass-rate": rate(first.candidate_rate if first else None),
        "baseline-pass-rate": rate(first.baseline_rate if first else None),
        "difference": rate(first.difference if first else None),
        "problems": str(first.problems) if first else "",
        "report-path": str(reports),
        "run-path": str(run),
        "exit-code": str(int(code)),
        "verdict": first.kind if first else "ungated",
    }
