"""Mine suites, and prove their problems."""

from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

from codegate import mining
from codegate.environments import Recipe, parse_recipe
from codegate.errors import Interrupted
from codegate.mining import KINDS, MineEvent, MineReport, MineRequest, Proof, ValidationReport, validate_suite
from codegate.mining.report import funnel_text
from codegate.running import CONFIG_NAME, new_run_id, opened_backend
from codegate.running.readiness import check_images, check_installed
from codegate.sandbox import Choice
from codegate.strict import read_text
from codegate.suite import describe_place, git, load_suite, parse_yaml, proved_places
from codegate.suite.reader import MAX_YAML_BYTES
from codegate.wording import count_of, documentation

_FEW_PROBLEMS: Final = 10
_MOST_REASONS: Final = 3
_REMEDIES: Final[Mapping[str, str]] = {
    "env_unresolved": "the environment cannot be built; write `environment` in codegate.yml, or make the one there "
    "fit older commits too; what each build printed is in funnel.jsonl.",
    "env_no_passing_test": "no test passes after the fix; add what the tests need (variables, `before`, `packages`) to "
    "`environment` in codegate.yml.",
    "collect_error_gold": "tests cannot be loaded after the fix; add what they need to `environment` in codegate.yml.",
    "timeout": "the tests take too long; raise `seconds` of `environment` in codegate.yml.",
    "needs_other_files": "the tests need changed files that are taken for configuration, documentation or generated "
    "code; funnel.jsonl names them.",
    "no_f2p": "the changed tests pass before the fix too, or are skipped; look for a missing service.",
    "only_new_tests": "the tests import what the fix adds; give --include-new-tests.",
    "other_kind": "the changes are no bug fixes; give --kind feature for another kind of suite.",
    "no_statement": "neither words nor a probe show all that the tests ask for; give --github for the texts of issues "
    "and pull requests.",
    "f2p_flaky": "the results of the changed tests vary from run to run.",
    "leak": "the answer is within a model's reach; funnel.jsonl says where. A copy among this machine's own programs "
    "cannot be seen with --sandbox docker.",
    "no_runner": "the recipe runs other tests: mine these by a recipe of their own (--config) into another suite; or "
    "no runner is known: write `tests` and `report` of `environment`.",
}
_LONGEST: Final = 400  # most characters of a proof's evidence


def mine(repository: Path, out: Path, request: MineRequest, progress: Callable[[MineEvent], None]) -> MineReport:
    """Mine a clone's past bug fixes into the suite ``out``.

    Without a recipe in the request or the configuration, one is searched for.
    """
    made: MineReport | None = None
    try:
        recipe = request.recipe or read_recipe(repository, request.config)
        mining.check_options(repository, out, request)  # checked before a sandbox is started
        request = request.model_copy(update={"recipe": recipe})
        with opened_backend(request.sandbox, new_run_id()) as backend:
            made = mining.mine_repository(repository, out, request, backend, progress)
    except KeyboardInterrupt as error:
        words = mining.stopped_words(out) if made is None else f"interrupted; what was mined is in {out}."
        raise Interrupted(words) from error
    return made


def mine_commit(
    repository: Path, out: Path, commit: str, request: MineRequest, progress: Callable[[MineEvent], None]
) -> MineReport:
    """Add one merged change to the suite at ``out``.

    The suite may be new, and the change of any kind. Raises UsageError unless ``commit`` is in the history of
    ``request.branch``.
    """
    full = git(repository, "rev-parse", "--verify", "--end-of-options", f"{commit}^{{commit}}").decode("ascii").strip()
    only = {"only": full, "kinds": KINDS, "refresh": (out / "suite.yml").exists()}
    return mine(repository, out, request.model_copy(update=only), progress)


def mining_words(report: MineReport) -> list[str]:
    """Return lines on what mining found, and what it cost."""
    funnel = funnel_text(report.funnel, report.reasons.get("budget"))
    left_out = {name: count for name, count in report.reasons.items() if name not in {"budget", "not_needed"}}
    reasons = ", ".join(f"{count} {reason}" for reason, count in left_out.items())
    each = report.seconds_per_problem
    cost = f"{report.seconds['total']:.1f} s" + (f", {each:.1f} s per validated problem" if each else "")
    lines = [f"funnel: {funnel}", f"left out: {reasons or 'nothing'}"]
    if not report.results and report.kept is None:
        lines.append("A unit is a merged change after the first commit; --branch and --since restrict them.")
    if report.untried:
        lines.append(f"not tried: {report.untried}")
    if needless := report.reasons.get("not_needed"):
        lines.append(f"proved, not needed: {count_of(needless, 'change')} (--max-problems)")
    remembered = sum(result.remembered for result in report.results)
    if remembered:
        lines.append(f"remembered from earlier: {remembered} (--fresh looks again)")
    if report.kept is not None:
        lines.append(
            f"kept: {count_of(len(report.kept.problems), 'problem')}, {len(report.kept.retired)} of them retired now"
        )
        lines += [f"could not be tried: {name}: {fault}" for name, fault in report.kept.faults.items()]
    if report.rewrites and report.usage is not None:
        tokens = f"{report.usage.input_tokens} tokens in, {report.usage.output_tokens} out"
        lines.append(f"statements: {count_of(report.rewrites, 'call')} of the rewriting model, {tokens}")
    written = "suite:" if report.suite is not None else "no suite was written, only the report in"
    lines.append(f"{written} {report.out} ({cost})")
    helps = [(reason, count) for reason, count in report.reasons.items() if reason in _REMEDIES]
    if len(report.problems) < _FEW_PROBLEMS and (helps or not report.problems):
        lines += [f"{count} {reason}: {_REMEDIES[reason]}" for reason, count in helps[:_MOST_REASONS]]
        lines.append(f"what else helps: {documentation('mining.md#when-little-comes-out')}")
    return lines


def read_recipe(repository: Path, config: Path | None) -> Recipe | None:
    """Read the environment's recipe from the configuration, or None.

    Other keys may be missing or wrong, because a repository is mined before there are candidates.
    """
    place = config or repository / CONFIG_NAME
    if config is None and not place.exists():
        return None
    written = parse_yaml(read_text(place, MAX_YAML_BYTES), str(place))
    value = written.get("environment") if isinstance(written, dict) else None
    return parse_recipe(value, str(place)) if value is not None else None


def validate(
    suite: Path,
    repository: Path | None,
    show: Callable[[Proof], None],
    *,
    sandbox: Choice = "auto",
    rounds: int = 3,
    jobs: int = 2,
    waiting: Callable[[int, int, str], None] | None = None,
) -> ValidationReport:
    """Prove every problem of a suite again; write quarantines.

    The reference fix has to pass, and the unchanged base has to fail. ``repository`` has the base commits;
    None: the suite names it. ``rounds`` is the number of runs with and without the fix, and ``jobs`` the number of
    sandboxes at once. ``waiting`` is called every second with three arguments: problems done, all problems, and a text
    on the problems under way.
    """
    loaded = load_suite(suite)
    check_images(loaded)
    with opened_backend(sandbox, new_run_id()) as backend:
        check_installed(loaded, loaded.active_or_quarantined, len(loaded.active_or_quarantined), backend, repository)
        return validate_suite(loaded, repository, backend, rounds, show, jobs, waiting=waiting)


def proof_words(proof: Proof) -> str:
    """Describe in one line whether a problem was proved sound."""
    reason = proof.quarantine
    result = "proven" if reason is None else f"quarantined: {reason.reason}: {reason.evidence}"
    return f"{proof.problem}: {' '.join(result.split())[:_LONGEST]}"


def comparable_places(report: ValidationReport) -> list[tuple[dict[str, str], bool]]:
    """Return the other places where the suite was proved.

    A place is a kind of sandbox with its base images. The flag says whether runs there can be compared with runs at
    this validation's place. The list is empty if this validation proved no problem.
    """
    if report.proved is None:
        return []
    here = report.proved.place
    alike = proved_places(report.suite, here)
    return [
        (one.place, any(one.place.items() <= place.items() for place in alike))
        for one in report.suite.proved
        if one.place != here
    ]


def validation_words(report: ValidationReport) -> list[str]:
    """Describe the results of a validation, in lines."""
    lines = [f"{name}: could not be run: {fault}" for name, fault in report.faults.items()]
    lines += [f"{name}: released, its quarantine has expired and the proof holds" for name in report.released]
    today = datetime.now(UTC).date()
    for problem in report.suite.problems:
        if due := problem.tests.expired(today):
            more = f" and {len(due) - 1} more" if due[1:] else ""
            lines.append(
                f"{problem.id}: quarantine has expired for {due[0]}{more}. To grade a test again, move it to "
                "FAIL_TO_PASS or PASS_TO_PASS in tests.json and validate."
            )
    proven = sum(proof.proven for proof in report.proofs)
    problems = len(report.suite.problems)
    lines.append(
        f"{proven} of {problems} problems proven, {count_of(report.rounds, 'time')} each, in {report.seconds:.0f} s"
    )
    if report.proved is not None:
        lines.append(f"proved in {describe_place(report.proved.place)}")
    for place, alike in comparable_places(report):
        verb = "can be compared" if alike else "cannot be compared (other packages or other proven problems)"
        lines.append(f"  runs there and in {describe_place(place)} {verb}")
    return lines
