"""Write a validated change as a problem's manifest and tests."""

from dataclasses import dataclass
from typing import Final

from codegate.durable import sha256
from codegate.languages import path_for_imports
from codegate.mining.cut import Cut
from codegate.mining.kinds import KindScore
from codegate.mining.languages import RunnerSettings, language_name
from codegate.mining.proving.validation import ValidatedChange
from codegate.mining.sources.history import MergedChange
from codegate.mining.statements.interface import Interface
from codegate.mining.statements.statement import EXAMPLE, StatementText
from codegate.mining.units import Prospect
from codegate.suite import (
    EVIDENCE,
    Base,
    Changes,
    ControlAudit,
    Environment,
    Language,
    LeakAudit,
    Problem,
    ProblemManifest,
    Provenance,
    Quality,
    Statement,
    TestSets,
    TreeFile,
    make_problem,
)
from codegate.wording import encodable

#: Each tier with its most changed source lines, files and hunks. A larger fix is XL.
_TIERS: Final = (("XS", 3, 1, 1), ("S", 15, 1, 10_000), ("M", 60, 3, 10_000), ("L", 200, 8, 10_000))

_EMPTY: Final = TreeFile(b"")


@dataclass(frozen=True)
class Findings:
    """Everything that mining found out about a validated change."""

    prospect: Prospect
    cut: Cut
    language: Language
    settings: RunnerSettings
    python_path: tuple[str, ...]
    environment: Environment
    validated: ValidatedChange
    kind: KindScore
    interface: Interface
    statement: StatementText
    quality: Quality
    leaks: LeakAudit
    controls: ControlAudit | None = None


def assemble(name: str, found: Findings, patch: str, project: str | None = None) -> Problem:
    """Return the change's problem.

    ``name`` is the suite's name, ``patch`` the fix as git's diff, and ``project`` the repository's web page.
    """
    unit, parts, outcomes = found.prospect.unit, found.cut, found.validated.outcomes
    enrichment, sources = found.prospect.enrichment, found.statement.sources
    issues = enrichment.issues if enrichment is not None else ()
    manifest = ProblemManifest(
        id=mined_id(name, unit),
        base=Base(commit=unit.base),
        environment=found.environment.manifest.id,
        language=found.language,
        runner=found.settings.runner,
        command=found.settings.command,
        reports=found.settings.reports,
        folder=found.settings.folder,
        before=found.settings.before,
        python_path=found.python_path,
        test_files=parts.test_files,
        public_tests=parts.public_tests,
        hidden_deleted=tuple(path for path, file in parts.hidden.items() if file is None),
        fix_deleted=tuple(path for path, file in parts.fix.items() if file is None),
        statement=Statement(
            mode=found.statement.mode,
            sha256=sha256(found.statement.text.encode("utf-8")),
            model=found.statement.model,
            sources=sources,
            dropped=tuple(encodable(text)[:300] for text in found.statement.dropped),
        ),
        limits=found.validated.limits,
        kind=found.kind.kind,
        kind_evidence=tuple(encodable(text)[:300] for text in found.kind.evidence),
        interface=tuple(encodable(text) for text in found.interface.signatures),
        quality=found.quality,
        leak_audit=found.leaks,
        controls=found.controls,
        tags={
            "tier": tier(parts.source_lines, len(parts.fix), patch.count("\n@@ -")),
            "component": component(main_file(parts.fix, found.language)),
            "year": str(unit.date.year),
            "fails_by": "+".join(sorted(set(outcomes.kinds.values()))),
            # Imported statements have no sources.
            **({EVIDENCE: "executed" if EXAMPLE in sources else "quoted"} if sources else {}),
        },
        provenance=Provenance(
            kind=unit.kind,
            commit=unit.commit,
            pull_request=unit.pull_request,
            title=encodable(unit.title),
            date=unit.date,
            bug_score=round(found.prospect.bug.score),
            evidence=tuple(encodable(text) for text in found.prospect.bug.evidence),
            issues=tuple(issue.number for issue in issues) or unit.closes,
            reported=min((issue.created for issue in issues), default=None),
            project=project,
        ),
    )
    tests = TestSets(
        FAIL_TO_PASS=outcomes.fail_to_pass,
        PASS_TO_PASS=outcomes.pass_to_pass,
        QUARANTINED=outcomes.quarantined,
        NONE_TO_PASS=outcomes.none_to_pass,
        EXPECTED_FAIL=outcomes.expected_fail,
    )
    return make_problem(manifest, found.statement.text, tests, parts.hidden, parts.fix, found.environment.manifest)


def mined_id(name: str, unit: MergedChange) -> str:
    """Return a problem's id: ``name`` and pull request or commit."""
    return f"{name}-{unit.pull_request or unit.commit[:12]}"


def tier(lines: int, files: int, hunks: int) -> str:
    """Return the size class of a fix, ``XS`` to ``XL``."""
    fitting = (name for name, most, many, parts in _TIERS if lines <= most and files <= many and hunks <= parts)
    return next(fitting, "XL")


def main_file(fix: Changes, language: Language) -> str:
    """Return the path of a fix's largest file.

    Files of ``language`` are preferred.
    """
    return max(fix, key=lambda path: (language_name(path) == language, len((fix[path] or _EMPTY).data), path))


def component(path: str) -> str:
    """Return the first two folders of a source file's path."""
    inside = path.removeprefix("src/")
    segments = (path_for_imports(inside) or inside).split("/")
    return encodable("/".join(segments[:2]))
