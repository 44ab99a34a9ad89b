"""Types of a suite's files; unknown keys are refused.

Unknown values are null, never 0. ``suite.yml`` is a ``SuiteManifest``, ``problems/<id>/problem.yml`` a
``StoredProblemManifest`` and ``problems/<id>/tests.json`` a ``TestSets`` (in JSON, because YAML would turn some test
ids into other types).
"""

from collections.abc import Collection
from datetime import date, datetime
from typing import Annotated, Literal

from pydantic import AfterValidator, Field, StringConstraints, model_validator

from codegate.plugins import language_names, runner_places
from codegate.service import Service
from codegate.strict import Strict
from codegate.suite.tree import is_plain_path

Slug = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]{0,99}$")]
Sha256 = Annotated[str, StringConstraints(pattern=r"^[0-9a-f]{64}$")]
Commit = Annotated[str, StringConstraints(pattern=r"^[0-9a-f]{40}([0-9a-f]{24})?$")]
WebAddress = Annotated[
    str, StringConstraints(pattern=r"^https://[a-z0-9.-]+(:[0-9]+)?(/[A-Za-z0-9_.~-]+)+$", max_length=300)
]


def _plain(path: str) -> str:
    if not is_plain_path(path):
        message = "not a plain relative path"
        raise ValueError(message)
    return path


PlainPath = Annotated[str, AfterValidator(_plain)]
ImportRoot = Annotated[str, AfterValidator(lambda path: _plain(path) if path else path)]


class ProblemLimits(Strict):
    """The resources of one grading sandbox."""

    seconds: float = Field(default=120, gt=0, le=3600, description="Wall-clock limit of a whole test run.")
    memory_mb: int = Field(default=1024, ge=64, le=65536, description="Memory, without swap.")
    cpus: float = Field(default=1.0, gt=0, le=64, description="Processors, parts of one included.")
    pids: int = Field(default=128, ge=16, le=4096, description="Processes and threads at one time.")
    disk_mb: int = Field(default=256, ge=16, le=16384, description="Size of the writable tmpfs.")
    output_kb: int = Field(default=1024, ge=16, le=65536, description="Output that is kept; more is cut off.")


def _known(name: str, what: str, names: Collection[str]) -> str:
    if name not in names:
        message = f"no {what} is called {name!r}; known are {', '.join(names)}"
        raise ValueError(message)
    return name


Language = Annotated[str, AfterValidator(lambda name: _known(name, "language", language_names()))]
"""Language of a problem's source, by its name in ``codegate.languages``; TypeScript counts as JavaScript."""

RunnerName = Annotated[str, AfterValidator(lambda name: _known(name, "test runner", sorted(runner_places())))]
"""Name of a test runner; each runner belongs to a language."""

Kind = Literal["bugfix", "feature", "refactor", "perf", "security"]
"""What a change is; by default only ``bugfix`` and ``security`` are kept."""


class Base(Strict):
    """A base tree: a repository's commit or a suite's folder."""

    commit: Commit | None = Field(default=None, description="Full id of a commit of the repository.")
    folder: PlainPath | None = Field(default=None, description="Folder with the tree, relative to the suite.")

    @model_validator(mode="after")
    def _exactly_one(self) -> "Base":
        if (self.commit is None) == (self.folder is None):
            message = "give exactly one of `commit` and `folder`"
            raise ValueError(message)
        return self


class EnvironmentManifest(Strict):
    """An environment that was built once, with its versions recorded.

    ``environments/<id>/recipe.yml`` has the recipe, ``environments/<id>/resolved.txt`` the versions that it installed.
    """

    id: Slug = Field(description="What problems call it, and the name of its folder.")
    recipe: Sha256 = Field(description="SHA-256 of the bytes of environments/<id>/recipe.yml.")
    resolved: Sha256 = Field(
        description="SHA-256 of the bytes of environments/<id>/resolved.txt: versions that every other build has too."
    )
    day: date = Field(description="Package indexes answer as of its end.")
    base: Base | None = Field(default=None, description="The tree that it was built from; null: an empty one.")
    inputs: Sha256 | None = Field(
        default=None,
        description="Digest of recipe, lock and manifest files and toolchains; null where there is no tree.",
    )

    @model_validator(mode="after")
    def _both_or_none(self) -> "EnvironmentManifest":
        if (self.base is None) != (self.inputs is None):
            message = "give both `base` and `inputs`, or, for a recipe that needs no tree, neither"
            raise ValueError(message)
        return self

    @property
    def identity(self) -> dict[str, object]:
        """Return the fields that can change an environment's test results."""
        made_from = {"inputs": self.inputs} if self.inputs is not None else {"recipe": self.recipe}
        return {**made_from, "resolved": self.resolved}


class Provenance(Strict):
    """A problem's source, and evidence that it fixes a bug."""

    kind: Literal["merge", "squash", "rebase", "direct", "imported", "handwritten"]
    commit: Commit | None = Field(default=None, description="The commit that has the fix.")
    pull_request: int | None = None
    title: str = Field(default="", max_length=500)
    date: datetime | None = None
    bug_score: int | None = Field(default=None, description="How much speaks for a bug fix; higher is surer.")
    evidence: tuple[str, ...] = Field(default=(), description="What the score was given for.")
    issues: tuple[int, ...] = Field(default=(), description="Numbers of the issues that the change closes.")
    reported: datetime | None = Field(default=None, description="When the oldest of those issues was opened.")
    merge_base: Commit | None = Field(default=None, description="Where the merged branch left the base's history.")
    project: WebAddress | None = Field(default=None, description="Web page of the repository, for links in reports.")
    upstream: str | None = Field(
        default=None, max_length=200, description="The id of the benchmark's task that the problem was imported from."
    )


class LeakAudit(Strict):
    """Ways for a model to find the reference fix.

    The problem is clean if all are 0 or false.
    """

    fix_lines: int = Field(default=0, ge=0, description="Distinctive lines of the fix found outside of it.")
    hidden_files: int = Field(default=0, ge=0, description="Hidden tests found in the tree or in the environment.")
    objects: int = Field(default=0, ge=0, description="Git objects within the model's reach.")
    own_release: bool = Field(default=False, description="The environment has a released copy of the project itself.")
    network: bool = Field(default=False, description="A connection out of the sandbox could be made.")
    findings: tuple[str, ...] = Field(default=(), description="One line of evidence each.")

    @property
    def clean(self) -> bool:
        """Return whether the audit found nothing."""
        return self == LeakAudit()


class Quality(Strict):
    """Measurements of a problem's tests and statement.

    Null is unknown. No grade depends on them.
    """

    hunk_coverage: float | None = Field(
        default=None, ge=0, le=1, description="Share of its partial fixes on which a fail-to-pass test fails."
    )
    hunks: int | None = Field(
        default=None, ge=0, description="Partial fixes: each lacks one change of the fix, or one statement."
    )
    exact_texts: int | None = Field(
        default=None,
        ge=0,
        description="Texts that a right answer has to give word for word: with another one, tests of the fix fail.",
    )
    command_clean: bool | None = Field(
        default=None, description="The exit status of the test command agrees with its tests."
    )
    statement_words: int | None = Field(default=None, ge=0)
    validation_seconds: float | None = Field(default=None, ge=0, description="Wall-clock time of its validation.")


class ControlAudit(Strict):
    """The result of trying a problem's controls.

    A control is a hidden test with one literal changed. The reference fix fails it, so every right answer fails
    it.
    """

    tried: int = Field(ge=0, description="Changes of fail-to-pass tests that were run on the reference fix.")
    flips: dict[str, tuple[str, ...]] = Field(
        default={},
        description="By fail-to-pass test, the literals that it fails with another text of their class, each with the "
        "statement at which it fails (`LITERAL@STATEMENT`), and the numbers of these texts where they are not all.",
    )
    alone: dict[str, tuple[str, ...]] = Field(
        default={},
        description="The same of tests that do not survive a copy beside them: these are changed in a second run.",
    )
    most: int | None = Field(
        default=None, ge=1, description="Copies of each test in one run, at most; null: as many as the odds need."
    )
    unfit: tuple[PlainPath, ...] = Field(
        default=(), description="Test files that are run as they are, because some test of theirs passes only so."
    )


class Quarantine(Strict):
    """Why a problem or test is excluded, and until when."""

    reason: Literal["flaky", "oracle_fails", "nop_resolves", "environment", "untold", "manual"]
    evidence: str = Field(max_length=2000, description="What was observed.")
    expires: date = Field(
        description="From this day on it is due: `codegate validate` releases or renews a problem, and names a test."
    )


class QuarantinedTest(Strict):
    """A hidden test that is not graded."""

    id: str
    quarantine: Quarantine


class Statement(Strict):
    """The origin of the statement in ``statement.md``."""

    mode: Literal["sources", "rewrite", "imported", "handwritten"] = Field(
        description="From the repository's texts and executed examples, rewritten by a model, from an imported row, or "
        "by hand."
    )
    sources: tuple[str, ...] = Field(default=(), description="Where its words are from: changelog, commit, probe, …")
    dropped: tuple[str, ...] = Field(default=(), description="Why sentences were left out, with their sources.")
    sha256: Sha256 = Field(description="SHA-256 of the bytes of statement.md.")
    model: str | None = Field(default=None, description="The model snapshot that rewrote it.")


class TestSets(Strict):
    """``tests.json``: the hidden tests, grouped by their required result."""

    __test__ = False  # not a test class, whatever its name begins with

    FAIL_TO_PASS: tuple[str, ...] = Field(
        min_length=1, description="Ids of hidden tests that fail without the fix and pass with it."
    )
    PASS_TO_PASS: tuple[str, ...] = Field(default=(), description="Ids of hidden tests that pass with and without it.")
    NONE_TO_PASS: tuple[str, ...] = Field(
        default=(), description="Those of FAIL_TO_PASS that do not even exist without the fix."
    )
    EXPECTED_FAIL: tuple[str, ...] = Field(
        default=(), description="Ids of hidden tests that fail with and without it; they are not graded."
    )
    QUARANTINED: tuple[QuarantinedTest, ...] = Field(default=(), description="Hidden tests that are not graded.")

    @property
    def expected(self) -> tuple[str, ...]:
        """Return every id that must pass, fail-to-pass first."""
        return self.FAIL_TO_PASS + self.PASS_TO_PASS

    def expired(self, today: date) -> tuple[str, ...]:
        """Return the ids of the tests whose quarantine is over."""
        return tuple(test.id for test in self.QUARANTINED if test.quarantine.expires <= today)


class ProblemManifest(Strict):
    """The content of ``problem.yml``."""

    problem_schema: Literal["codegate.problem/1"] = Field(default="codegate.problem/1", alias="schema")
    id: Slug = Field(description="Unique in the suite, and the name of the problem's folder.")
    base: Base
    environment: Slug = Field(description="Id of one of the suite's environments.")
    language: Language = "python"
    runner: RunnerName = "pytest"
    command: tuple[str, ...] = Field(
        default=(),
        description="The words of the command that runs the tests; no shell is involved. For the runner `junit`: what "
        "writes its reports; for others: the project's own command, whose options count.",
    )
    reports: tuple[PlainPath, ...] = Field(
        default=(), description="For the runner `junit`: the JUnit XML files (or folders of them) that it writes."
    )
    before: tuple[str, ...] = Field(
        default=(), description="Command lines that run before the tests, in the same sandbox."
    )
    folder: ImportRoot = Field(
        default="", description="Folder that the tests run in, such as a service of a monorepo; empty: the tree itself."
    )
    python_path: tuple[ImportRoot, ...] = Field(
        default=("", "src"), description="Import roots, relative to the tree; an empty text is the tree itself."
    )
    test_files: tuple[PlainPath, ...] = Field(
        default=(), description="Hidden test files that are run; there is at least one, but for a question."
    )
    public_tests: tuple[PlainPath, ...] = Field(
        default=(), description="Test files of the base tree shown to the model."
    )
    hidden_deleted: tuple[PlainPath, ...] = Field(default=(), description="Test files that the fix deletes.")
    fix_deleted: tuple[PlainPath, ...] = Field(default=(), description="Source files that the fix deletes.")
    statement: Statement
    limits: ProblemLimits = ProblemLimits()
    service: Service | None = Field(
        default=None,
        description="A fake HTTP service at CODEGATE_SERVICE_URL, for tests and agents; null: there is none.",
    )
    answer: Literal["code", "prose"] | None = Field(
        default=None,
        description="For a question, for which nothing is run: what its answer must hold. Null: hidden tests decide.",
    )
    kind: Kind | None = Field(default=None, description="What the change is; null if unknown.")
    kind_evidence: tuple[str, ...] = Field(default=(), description="What the kind was concluded from.")
    interface: tuple[str, ...] = Field(
        default=(), description="Signatures of new names that the hidden tests use; the statement shows them."
    )
    tags: dict[str, str] = Field(default={}, description="For slicing results; they change no grade.")
    provenance: Provenance
    quality: Quality | None = None
    leak_audit: LeakAudit | None = None
    controls: ControlAudit | None = Field(default=None, description="Null: not run yet.")
    status: Literal["active", "quarantined", "retired"] = Field(
        default="active",
        description="`retired`: it no longer builds, or a review dropped it; its id is never given to another problem.",
    )
    quarantine: Quarantine | None = None

    @model_validator(mode="after")
    def _keys_go_together(self) -> "ProblemManifest":
        message = ""
        if (self.runner == "junit") != bool(self.reports) or (self.reports and not self.command):
            message = "`reports` go with a `command` and the runner `junit`, and only with these"
        elif bool(self.test_files) == (self.answer is not None):
            message = "give either `test_files` or, for a question, `answer`"
        elif (self.status != "active") != (self.quarantine is not None):
            message = "`quarantine` goes with `status: quarantined` or `retired`, and only with these"
        if message:
            raise ValueError(message)
        return self


class StoredProblemManifest(ProblemManifest):
    """``problem.yml`` with executable files' modes, because checkouts lose them."""

    file_modes: dict[PlainPath, Literal["100755"]] = Field(
        default={}, description="Executable files: their path below the problem's folder, such as fix/tool.py."
    )


Canary = Annotated[str, StringConstraints(pattern=r"^[!-~]{8,200}$")]


class SuiteManifest(Strict):
    """The content of ``suite.yml``."""

    suite_schema: Literal["codegate.suite/2"] = Field(default="codegate.suite/2", alias="schema")
    name: Slug
    repository: str | None = Field(
        default=None,
        description="Repository that the base commits are in: a path relative to the suite, or null for the one that "
        "the suite is in. It may lead to that repository, or to one below the suite's parent folder; any other has "
        "to be given with --repository.",
    )
    canary: Canary = Field(description="A unique word: a model that can recite it has seen this suite.")
    pooled_canaries: tuple[Canary, ...] = Field(
        default=(), max_length=1000, description="The canaries of the suites that this one was pooled from."
    )
    environments: tuple[EnvironmentManifest, ...]
    problems: tuple[Slug, ...] = Field(description="Ids of the problems, in the order that they run in.")
    scanned: Commit | None = Field(default=None, description="The newest commit that mining has looked at.")
