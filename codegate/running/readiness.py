"""Check a run's environments and problems before the first call.

Otherwise money is spent on answers that cannot be graded. A problem whose reference fix fails here counts against every
candidate: two such problems of forty raise false alarms from 5 % to 14 %. Unsound problems are excluded on both sides
of the gate. A problem whose check ended with a fault is not excluded: its samples are lost, and a resumed run checks it
again.
"""

import os
import threading
import time
from collections.abc import Callable, Collection, Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path
from typing import Final

from codegate.environments import inputs_of, recipe_of
from codegate.errors import InfrastructureError, UsageError
from codegate.gating.decision import TOLERATED_PROBLEMS
from codegate.grading import Sandboxes, grade, run_hidden_tests, test_selection
from codegate.running.attempt import Engine, Setup
from codegate.running.calls import CallLimitReached
from codegate.running.faults import FinalFault, with_retries
from codegate.running.journal import Journal
from codegate.running.outcome import Fault, SoundnessRecord
from codegate.sandbox import Backend, NotInstalled, SandboxError
from codegate.suite import RECIPE, Environment, Problem, Suite, Tree, load_tree, make_patch
from codegate.wording import count_of, join_first

IMAGES_VARIABLE: Final = "CODEGATE_IMAGES"
SECRETS_VARIABLE: Final = "CODEGATE_SECRETS"


def check_images(suite: Suite) -> None:
    """Raise UsageError if a suite wants forbidden images or secrets.

    A suite is untrusted. The daemon fetches a recipe's image with its own registry credentials, and the image's
    interpreter runs the sandbox's supervisor. A recipe's set-up can send its secrets to a host that the recipe names.
    """
    allowed = frozenset(os.environ.get(IMAGES_VARIABLE, "").split())
    given = frozenset(os.environ.get(SECRETS_VARIABLE, "").split())
    for environment in suite.environments.values():
        place = f"{suite.folder / 'suite.yml'}: environment {environment.id}: {RECIPE}"
        recipe = recipe_of(environment)
        if recipe.image is not None and recipe.image not in allowed:
            raise UsageError(
                f"{place} uses the image {recipe.image}, which is not allowed here.",
                f"If you trust it, add it to the environment variable {IMAGES_VARIABLE} (separated by blanks).",
            )
        if missing := sorted(set(recipe.secrets) - given):
            raise UsageError(
                f"{place} asks for the secrets {', '.join(missing)}, which are not allowed here.",
                f"If you trust the suite, add them to the environment variable {SECRETS_VARIABLE} (separated by "
                "blanks).",
            )


def check_installed(
    suite: Suite, problems: Iterable[Problem], total: int, backend: Backend, repository: Path | None
) -> None:
    """Raise UsageError if the sandbox lacks what recipes need.

    Recipes need toolchains, packages and images. If only mined environments lack something, the run goes on without
    their problems, unless these are too many of the run's ``total`` problems.
    """
    known: dict[str, NotInstalled | None] = {}
    lacking: list[tuple[Environment, NotInstalled]] = []
    for problem in problems:
        if problem.manifest.answer is not None:
            continue  # a question is not executed
        environment = suite.environments[problem.environment.id]
        if (recipe := environment.manifest.recipe) not in known:
            known[recipe] = _not_installed(suite, environment, backend, repository)
        if (error := known[recipe]) is not None:
            lacking.append((environment, error))
    written = [(environment, error) for environment, error in lacking if environment.manifest.base is None]
    if written or _too_many(len(lacking), TOLERATED_PROBLEMS, total):
        environment, error = (written or lacking)[0]
        place = suite.folder / "environments" / environment.id / RECIPE
        words = f"{len(lacking)} of {count_of(total, 'problem')} cannot be run here ({place}): {error.cause}"
        raise UsageError(words, error.remedy) from error


def _not_installed(
    suite: Suite, environment: Environment, backend: Backend, repository: Path | None
) -> NotInstalled | None:
    base = environment.manifest.base
    try:
        inputs_of(recipe_of(environment), load_tree(suite, base, repository) if base else Tree(), backend)
    except NotInstalled as error:
        return error
    except SandboxError:  # building the environment meets this fault again, and retries it
        pass
    return None


def warn_of_expired(suite: Suite, announce: Callable[[str], None]) -> None:
    """Announce problems whose quarantine has expired."""
    expired = suite.expired(datetime.now(UTC).date())
    if expired:
        announce(
            f"the quarantine of {len(expired)} of {len(suite.problems)} problems has expired ({join_first(expired)}); "
            f"`codegate validate {suite.folder}` releases them or renews it"
        )


def prepare_environments(sandboxes: Sandboxes, problems: Iterable[Problem], stop: threading.Event) -> dict[str, Fault]:
    """Build the problems' environments; return faults by environment id."""
    broken: dict[str, Fault] = {}
    for environment in {problem.environment.id: problem.environment for problem in problems}.values():
        try:
            with_retries(partial(sandboxes.prepare, environment), stop, cause="environment")
        except FinalFault as error:
            broken[environment.id] = error.fault
    return broken


MOST_UNSOUND: Final = 0.25
"""Share of unsound problems above which the environment is broken and the run stops."""

_SOUND_FOR: Final = timedelta(hours=1)
"""How long a problem counts as sound: a later execution of the same run checks it again."""

_TRIES: Final = 2


def check_soundness(
    setup: Setup,
    problems: Collection[Problem],
    base: Callable[[str], Tree],
    engine: Engine,
    stop: threading.Event,
    checked: Callable[[int, int], None],
) -> dict[str, Fault]:
    """Record which problems can be graded here; return faults.

    A problem is sound if the reference fix passes and the unchanged tree fails. The returned faults prevented checks;
    keys are problem ids. ``checked`` is called with two numbers: checked problems and all to check.

    Raises:
        CallLimitReached: no time is left; the problems found sound so far are recorded.
        InfrastructureError: too many problems are unsound, or could not be run.
    """

    def look(problem: Problem) -> str | Fault | None:
        setup.time_limit.check("soundness")
        began = time.monotonic()
        reason = _unsound(problem, base, engine, stop)
        setup.time_limit.record("soundness", began)
        return reason

    journal, manifest = setup.journal, setup.journal.manifest
    record = journal.soundness()
    known = {} if record is None else dict(record.problems)
    if record is not None and datetime.now(UTC) - record.checked > _SOUND_FOR:
        # Sound problems are checked again: a hidden test can stop passing with time or on another machine.
        known = {name: wrong for name, wrong in known.items() if wrong is not None}
    new = [problem for problem in problems if problem.id not in known]
    if not new:
        return {}
    checked(0, len(new))
    found: dict[str, str | Fault | None] = {}
    with ThreadPoolExecutor(setup.options.jobs, "codegate-soundness") as pool:
        reasons = pool.map(look, new)
        try:
            for problem, reason in zip(new, reasons, strict=True):
                found[problem.id] = reason
                checked(len(found), len(new))
        except CallLimitReached:
            _record(journal, {**known, **{name: wrong for name, wrong in found.items() if wrong is None}})
            raise
    refuse_unsound({**known, **found}, manifest.problem_count)
    _record(journal, {**known, **{name: wrong for name, wrong in found.items() if not isinstance(wrong, Fault)}})
    return {name: wrong for name, wrong in found.items() if isinstance(wrong, Fault)}


def _record(journal: Journal, problems: Mapping[str, str | None]) -> None:
    now = datetime.now(UTC).replace(microsecond=0)
    journal.record_soundness(SoundnessRecord(checked=now, problems=problems))


def refuse_unsound(found: Mapping[str, str | Fault | None], total: int) -> None:
    """Raise InfrastructureError if too many problems cannot be graded.

    ``found`` has by problem the reason why the problem is unsound (text), the fault that prevented its check, or None
    if it is sound. ``total`` is the run's number of problems, which decides how many are too many; ``found`` may have
    fewer.
    """
    faulted = {problem: wrong.message for problem, wrong in found.items() if isinstance(wrong, Fault)}
    unsound = {problem: wrong for problem, wrong in found.items() if isinstance(wrong, str)}
    for named, most, words, remedy in (
        (faulted, TOLERATED_PROBLEMS, "could not be run here", "Fix the sandboxes and resume."),
        (
            unsound,
            MOST_UNSOUND,
            "are not sound here",
            "Fix the environment and resume, or quarantine them with `codegate validate`.",
        ),
    ):
        if _too_many(len(named), most, total):
            first = "; ".join(f"{problem}: {reason}" for problem, reason in list(named.items())[:3])
            raise InfrastructureError(
                f"{len(named)} of {total} problems {words}, too many to continue: {first}.", remedy
            )


def _too_many(count: int, most: float, total: int) -> bool:
    return count > max(1, most * total) or count >= max(1, total)


def _unsound(
    problem: Problem, base: Callable[[str], Tree], engine: Engine, stop: threading.Event
) -> str | Fault | None:
    # A second try allows for busy machines.
    reason: str | Fault | None = None
    for _ in range(_TRIES):
        try:
            reason = with_retries(partial(engine.run, _check, problem, base), stop)
        except FinalFault as error:
            message = f"{error.fault.cause}: {error.fault.message}"[:2000]
            reason = Fault(cause="could_not_run_here", message=message, retries=error.fault.retries)
        if reason is None:
            return None
    return reason


def _check(problem: Problem, base: Tree, sandboxes: Sandboxes) -> str | None:
    if problem.manifest.answer is not None:
        return None  # a question is not executed
    fixed = grade(problem, base, make_patch(base, problem.fix), sandboxes)
    if not fixed.resolved:
        return f"the reference fix does not pass here ({fixed.failure}, {fixed.tests_passed}/{fixed.tests_total} tests)"
    report = run_hidden_tests(problem, base, sandboxes, test_selection(problem))
    passing = {test for test, result in report.results.items() if result.status == "passed"}
    known = sorted(passing.intersection(problem.tests.FAIL_TO_PASS))
    return f"{known[0]} passes here without any fix" if known else None
