"""Decide from which commit a gate reads its files.

A pull request chooses the candidates and their prices. What decides whether it passes and what it may cost is read from
the base commit: the suite, the baseline, the gate's policy and the limits.
"""

import os
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path, PurePosixPath
from typing import Any, Final

from codegate.candidates import CandidateSpec, Prices, list_entry, with_helper_prices
from codegate.errors import CodegateError, ExitCode, UsageError
from codegate.operations.pinned import PinnedBaseline, find_pinned
from codegate.running import CONFIG_NAME, Config, Gate, RunSpec, named_candidates
from codegate.running.config import candidate_files, load_config, with_prices
from codegate.running.gate import gate_of_floors
from codegate.running.outcome import RunManifest
from codegate.running.plan import check_resumable, tags_of
from codegate.strict import Strict, printable
from codegate.suite import GitError, Suite, git, images_of, load_suite, read_commit, read_yaml
from codegate.wording import join_first

STAND_IN: Final = (CandidateSpec(provider="reference"),)
"""Candidates that stand in if only the other keys of a configuration are read."""


class Skipped(CodegateError):
    """The gate cannot run yet; nothing was spent."""

    exit_code = ExitCode.PASS


class Places(Strict):
    """Where to find suite, configuration and baseline.

    ``config``, ``suite``, ``baseline`` and ``repository`` are paths relative to ``workspace``; for files of the base
    commit, they are relative to the top of the commit's tree. None: as configured. ``candidates`` are labels or models
    of configured candidates, or short forms.
    """

    workspace: Path
    config: str | None = None
    suite: str | None = None
    candidates: tuple[str, ...] = ()
    baseline: str | None = None
    repository: str | None = None


@dataclass(frozen=True)
class Project:
    """A suite with candidates, settings and baseline to gate them.

    Attributes:
        suite: the suite's folder; it may be missing.
        repository: where base commits are; None: where the suite says.
        transcripts: folder to which the paths of ``replay`` candidates are relative.
        lock: path of the baseline's lock in the repository; None without one, or if the baseline is read already.
        changed: parts of suite and rules that the pull request changes, for people. The base commit's versions are
            used.
        trusted: candidates of the configuration that decides where keys go: the base commit's, if there is one.
        gate: what decides the project's runs; None if nothing does, or if the baseline of ``lock`` is not fetched yet.
        pinned: the fetched baseline.
        images: base images by Python version for runs without a baseline.
        unpriced: keys of candidates whose price neither the base commit nor the price list knows.
    """

    settings: Config
    suite: Path
    repository: Path | None
    transcripts: Path
    lock: str | None = None
    changed: tuple[str, ...] = ()
    trusted: tuple[CandidateSpec, ...] = ()
    gate: Gate | None = None
    pinned: PinnedBaseline | None = None
    images: Mapping[str, str] = field(default_factory=dict)
    unpriced: frozenset[str] = frozenset()

    @property
    def notes(self) -> tuple[str, ...]:
        """Return sentences on ignored changes and an unusual baseline."""
        changed = " and ".join(self.changed)
        note = f"This change edits {changed}; until it is merged, what the base commit has counts."
        return (*([note] if changed else []), *(self.pinned.notes if self.pinned is not None else ()))

    def with_pinned(self, pinned: PinnedBaseline) -> "Project":
        """Return the project gated by its fetched baseline."""
        return replace(self, pinned=pinned, gate=Gate(pinned.baseline, self.settings.gate))

    def run(self, candidates: Sequence[CandidateSpec] = (), samples: int | None = None, **options: Any) -> RunSpec:
        """Return the configured run; arguments override the configuration.

        ``options`` are fields of ``RunOptions``. Raises UsageError if there is a budget and a candidate's price comes
        only from the pull request, because such a price could be too low.
        """
        settings, gate = self.settings, self.gate
        baseline = gate.baseline if gate is not None else None
        candidates = candidates or settings.candidates
        run_options = settings.run_options(repository=self.repository, transcripts=self.transcripts, **options)
        alone = [spec.label for spec in candidates if spec.key() in self.unpriced]
        if alone and run_options.budgeted:
            raise UsageError(
                f"there is a budget in dollars, and only the proposal says what {alone[0]} costs.",
                "Merge its price first, under `prices` in the base commit's configuration.",
            )
        return RunSpec(
            self.suite,
            candidates,
            samples or settings.samples,
            settings.sandbox,
            options=run_options,
            prices=_known_prices(baseline.spec, self.trusted, settings.prices) if baseline is not None else {},
            gate=gate,
            images=images_of(baseline.samples.conditions) if baseline is not None else self.images,
        )


@contextmanager
def rules_from(commit: str, places: Places) -> Iterator[Project]:
    """Yield the project as configured at ``commit``, with its baseline.

    Only the candidates come from the work tree.
    """
    try:
        found = git(places.workspace, "rev-parse", "--verify", "--quiet", "--end-of-options", f"{commit}^{{commit}}")
    except GitError as error:
        remedy = "Fetch it; in CI, check out the whole history."
        raise UsageError(f"there is no commit {printable(commit)!r} here.", remedy) from error
    base = found.decode("ascii").strip()
    with tempfile.TemporaryDirectory(prefix=f"codegate-rules-{base[:12]}-") as scratch:
        project = project_of(places, base, Path(scratch))
        if project.lock is not None:
            project = project.with_pinned(find_pinned(project.lock, places.workspace, base))
        yield project


def check_same_rules(manifest: RunManifest, project: Project) -> None:
    """Raise UsageError unless the run has the project's rules.

    Suite, grader, prompts, problems and their tags must be equal.
    """
    suite = load_suite(project.suite)
    check_resumable(manifest, suite)
    if manifest.problems.keys() != {problem.id for problem in suite.active}:
        raise UsageError(
            f"run {manifest.id} is on other problems than the suite of the base commit has.",
            "Start a new run with --rules-from.",
        )
    check_same_tags(manifest, suite)


def check_same_tags(manifest: RunManifest, suite: Suite) -> None:
    """Raise UsageError unless the run's problems have the suite's tags.

    Floors and ``newer_than`` depend on tags, which no digest covers.
    """
    problems = (problem for problem in suite.active if problem.id in manifest.problems)
    if changed := [one.id for one in problems if manifest.tags.get(one.id) != tags_of(one.manifest)]:
        raise UsageError(
            f"run {manifest.id} has other tags or dates than the suite of the base commit: {join_first(changed)}.",
            "Start a new run with --rules-from.",
        )


def project_of(inputs: Places, base: str | None, scratch: Path, *, needs_candidates: bool = True) -> Project:
    """Return the project that a gate decides on.

    The candidates are the workspace's. All other settings come from the commit ``base``, or from the workspace if
    ``base`` is None. ``scratch`` is an empty folder, into which files of the commit are written. Unless
    ``needs_candidates``, a project may have no candidates.

    Raises:
        UsageError: something is missing or broken, or leads out of the workspace.
        Skipped: the base commit has no suite yet.
    """
    config = inputs.config or CONFIG_NAME
    root = inputs.workspace if base is None else scratch.resolve()
    here = (inputs.workspace / config).parent
    proposed = _config(inputs.workspace, config, needed=inputs.config is not None, harness=here)
    if base is not None:
        _read_base(inputs.workspace, base, config, scratch)
        place = scratch / config
        for name in candidate_files(read_yaml(place, Config)) if place.exists() else ():
            _read_base(inputs.workspace, base, (PurePosixPath(config).parent / name).as_posix(), scratch)
    # Harness files come from the work tree. The base's candidates get none if the pull request's candidates run
    # instead.
    rules = proposed if base is None else _config(scratch, config, needed=False, harness=None if proposed else here)
    candidates = _candidates(inputs, proposed or rules, needs_candidates)
    trusted = rules.candidates if rules is not None else ()
    settings = _settings(rules, proposed, candidates, foreign=base is not None)
    home = Path(config).parent

    def configured(value: str | None, key: str) -> str | None:
        place = f"`{key}` in the configuration"
        return relative(inputs.workspace, str(home / value), place) if value else None

    suite = inputs.suite or configured(settings.suite, "suite")
    if suite is None and base is not None and rules is None:
        raise Skipped(f"the base commit {base[:12]} has no {config}: there is nothing to gate with yet.")
    if suite is None:
        raise UsageError("no suite was given.", "Set the input `suite`, or `suite` in the configuration.")
    lock = inputs.baseline or configured(settings.baseline, "baseline") or settings.baseline
    repository = inputs.repository or configured(settings.repository, "repository")
    if base is not None:
        _read_base(inputs.workspace, base, suite, scratch)
        _read_base(inputs.workspace, base, lock, scratch)
        if not (scratch / suite).exists():
            if not (inputs.workspace / suite).exists():
                raise UsageError(f"there is no suite at {suite}, neither here nor at the base commit {base[:12]}.")
            raise Skipped(f"the base commit {base[:12]} has no suite at {suite}: there is nothing to gate with yet.")
        repository = repository or "."
        check_destinations(candidates, trusted, f"{config} of the base commit {base[:12]}")
    given = inputs.baseline is not None or settings.gates_with(root / lock)
    return Project(
        settings=settings,
        changed=_changed(inputs.workspace, base, suite, config, rules, proposed) if base is not None else (),
        suite=real_path(root, suite, "the suite"),
        lock=real_path(root, lock, "the lock of the baseline").relative_to(root).as_posix() if given else None,
        repository=real_path(inputs.workspace, repository, "the repository") if repository else None,
        transcripts=inputs.workspace / (Path() if inputs.candidates else home),
        trusted=trusted,
        gate=None if given else gate_of_floors(settings.gate),
        unpriced=frozenset(_unpriced(settings.candidates, rules)) if base is not None else frozenset(),
    )


def _changed(
    workspace: Path, base: str, suite: str, config: str, rules: Config | None, proposed: Config | None
) -> tuple[str, ...]:
    """Return what a pull request changes in suite and configuration.

    The result has the folder ``suite``, if HEAD and the commit ``base`` differ in it. The file ``config`` is added,
    with the keys in which ``rules`` (the base's configuration) and ``proposed`` (the work tree's) differ.
    """
    differs = git(workspace, "diff-tree", "-r", "--name-only", base, "HEAD", "--", f":(top,literal){suite}")
    names = Config.model_fields.keys() - {"candidates", "prices"} if rules is not None else ()
    other = ", ".join(name for name in sorted(names) if getattr(rules, name) != getattr(proposed, name, None))
    return (*([suite] if differs else []), *([f"{config} ({other})"] if other else []))


def _config(root: Path, path: str, *, needed: bool, harness: Path | None = None) -> Config | None:
    place = real_path(root, path, "the configuration")
    return load_config(place, harness) if needed or place.exists() else None


def _candidates(inputs: Places, config: Config | None, needed: bool) -> tuple[CandidateSpec, ...]:
    configured = config.candidates if config is not None else ()
    if not inputs.candidates and not configured and needed:
        raise UsageError("no candidate was given.", f"Set the input `candidates`, or write {CONFIG_NAME}.")
    if not inputs.candidates:
        return configured or STAND_IN
    found: list[CandidateSpec] = []
    for name in inputs.candidates:
        known = [spec for spec in configured if name in {spec.label, spec.model, f"{spec.provider}:{spec.model}"}]
        fitting = [spec for spec in known if spec.label == name] or known
        if len(fitting) > 1:
            raise UsageError(
                f"input `candidates`: {len(fitting)} candidates of the configuration fit {printable(name)!r}.",
                "Give each a `name` of its own, and the input that of one.",
            )
        found += fitting or named_candidates((name,), "input `candidates`")
    return tuple(found)


def _settings(
    rules: Config | None,
    proposed: Config | None,
    candidates: tuple[CandidateSpec, ...],
    *,
    foreign: bool,
) -> Config:
    """Return the base's settings, with ``candidates`` and their prices.

    ``rules`` is the base commit's configuration (None if it has none), ``proposed`` the work tree's. Prices come from
    ``rules``, then from ``proposed``. ``foreign``: a pull request chose the candidates. Then these candidates cannot
    lower the prices of ``rules`` or list prices. They also lose their names, because a name could present the suite's
    own answers as a model's.
    """
    table = rules.prices if rules is not None else {}
    named = with_prices(candidates, {**(proposed.prices if proposed else {}), **table})
    if foreign:
        known = [_known_prices(spec, rules.candidates if rules is not None else (), table) for spec in named]
        each = zip(named, known, strict=True)
        named = tuple(_trusted_prices(spec, prices).model_copy(update={"name": ""}) for spec, prices in each)
    return Config(candidates=named) if rules is None else rules.model_copy(update={"candidates": named})


def _known_prices(
    spec: CandidateSpec, trusted: Sequence[CandidateSpec], table: Mapping[str, Prices]
) -> dict[str, Prices]:
    """Return the prices at the candidate's address, by model.

    Prices that a ``trusted`` candidate declares count only at its own address, where they come before those in
    ``table``: a model may cost nothing at another address.
    """
    there = [one for one in trusted if (one.provider, one.base_url) == (spec.provider, spec.base_url)]
    declared = [(one.model, one.prices) for one in there if one.prices is not None]
    helpers = {name: one for _, prices in declared for name, one in prices.helpers.items()}
    return {**table, **helpers, **dict(declared)}


def _trusted_prices(spec: CandidateSpec, known: Mapping[str, Prices]) -> CandidateSpec:
    """Return a candidate with prices that no pull request lowers.

    The prices come from ``known``, by model, else from the price list, else from the candidate.
    """
    proposed = spec.prices.helpers if spec.prices is not None else {}
    unlisted = {one.model for one in spec.helpers if list_entry(one).prices is None}
    own = known.get(spec.model) or list_entry(spec).prices or spec.prices
    if own is not None:
        own = own.model_copy(update={"helpers": {name: proposed[name] for name in unlisted & proposed.keys()}})
    return spec.model_copy(update={"prices": with_helper_prices(spec, own, known)})


def _unpriced(candidates: Sequence[CandidateSpec], rules: Config | None) -> Iterator[str]:
    for spec in candidates:
        known = _known_prices(spec, rules.candidates, rules.prices) if rules is not None else {}
        models = (spec, *spec.helpers) if spec.calls_a_model else ()
        if not all(one.model in known or list_entry(one).prices for one in models):
            yield spec.key()


def check_destinations(candidates: Sequence[CandidateSpec], trusted: Sequence[CandidateSpec], place: str) -> None:
    """Raise UsageError if a candidate sends keys to unknown places.

    Keys may go where the candidates ``trusted`` send them. ``place`` names their configuration in messages.
    """
    for spec in candidates:
        if not spec.is_trusted_by(trusted):
            fields = ("base_url", "api_key_env", "api_key_command", "headers", "query")
            given = " and ".join(f"`{name}`" for name in fields if getattr(spec, name))
            raise UsageError(
                f"{spec.label}: no candidate of {spec.provider} in {place} has the same {given}.",
                "A key goes to its provider's own address, or where that file sends it: add it there first, in a "
                "change of its own that people review.",
            )


def _read_base(workspace: Path, commit: str, path: str, folder: Path) -> None:
    files = read_commit(workspace, commit, (path,))
    for above in (*reversed(PurePosixPath(path).parents[:-1]), PurePosixPath(path)):
        if git(workspace, "ls-tree", "-z", "--full-tree", commit, "--", above.as_posix()).startswith(b"120000 "):
            raise _link(above.as_posix(), commit)
    for name, file in files.items():
        if file.is_link:
            raise _link(name, commit)
        place = folder / name
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_bytes(file.data)


def _link(path: str, commit: str) -> UsageError:
    return UsageError(
        f"{printable(path)!r} is a symbolic link in the base commit {commit[:12]}.", "Commit the file itself."
    )


def real_path(workspace: Path, relative: str, what: str) -> Path:
    """Resolve a path; raise UsageError outside of the workspace.

    ``what`` names the path in messages.
    """
    try:
        chosen = (workspace / relative).resolve()
    except (OSError, RuntimeError, ValueError) as error:  # up to Python 3.12 a loop of links raises RuntimeError
        raise UsageError(f"{what} is no usable path: {relative[:200]!r}.") from error
    if not chosen.is_relative_to(workspace):
        raise UsageError(f"{what} leaves the workspace: {relative[:200]!r}.", "Give a path inside the repository.")
    return chosen


def relative(workspace: Path, path: str, what: str) -> str:
    """Return ``path`` relative to the workspace; raise UsageError outside.

    Links are not followed. ``what`` names the path in messages.
    """
    chosen = Path(os.path.normpath(workspace / path))
    if "\0" in path or not chosen.is_relative_to(workspace):
        raise UsageError(f"{what} leaves the workspace: {path[:200]!r}.", "Give a path inside the repository.")
    return chosen.relative_to(workspace).as_posix()
