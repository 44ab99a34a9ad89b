"""SWE-bench's rows: the twelve fields of its data sets, which most benchmarks after it have too.

Fields, of princeton-nlp's data sets: ``repo``, ``instance_id``, ``base_commit``, ``patch``, ``test_patch``,
``problem_statement``, ``hints_text``, ``created_at``, ``version``, ``environment_setup_commit``, ``FAIL_TO_PASS`` and
``PASS_TO_PASS`` (lists as JSON texts). A row from elsewhere is kept in ``Provenance.upstream`` field by field, and its
export has those fields again, byte by byte.
"""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Annotated, Any, Final

from pydantic import BaseModel, BeforeValidator, ConfigDict, StringConstraints

from codegate.errors import UsageError
from codegate.strict import parse_json
from codegate.suite.exchange.lossless import PREFIX, extras
from codegate.suite.exchange.portable import patched, portable_patch
from codegate.suite.exchange.rows import Row
from codegate.suite.model import Commit, Problem, Suite
from codegate.suite.reader import check_model
from codegate.suite.tree import Changes, Tree

FIELDS: Final = (
    "repo", "instance_id", "base_commit", "patch", "test_patch", "problem_statement", "hints_text", "created_at",
    "version", "environment_setup_commit", "FAIL_TO_PASS", "PASS_TO_PASS",
)  # fmt: skip
MAX_UPSTREAM: Final = 400_000
MAX_FURTHER: Final = 64_000
_DERIVED: Final = frozenset({"base_commit", "problem_statement"})
_JSON: Final = ":json"
_NOT_IN_IDS: Final = re.compile(r"[^A-Za-z0-9._-]+")
_PULL_REQUEST: Final = re.compile(r".+-(\d{1,9})")
_INSTANCE: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}")


def _ids(value: object) -> object:
    """Accept a list, or a list as JSON text; nothing is an empty list."""
    if value is None or value == "":
        return []
    return parse_json(value, "the list") if isinstance(value, str) else value


Ids = Annotated[tuple[str, ...], BeforeValidator(_ids)]
Text = Annotated[str, StringConstraints(min_length=1)]


class _Fields(BaseModel):
    """What an import needs of a row; further fields are as they are."""

    model_config = ConfigDict(extra="ignore", frozen=True)

    repo: Annotated[str, StringConstraints(pattern=r"^[\w.-]+/[\w.-]+$", max_length=200)]
    instance_id: Annotated[str, StringConstraints(min_length=1, max_length=200)]
    base_commit: Commit
    patch: Text
    test_patch: Text
    problem_statement: Annotated[str, StringConstraints(pattern=r"\S")]
    FAIL_TO_PASS: Ids = ()
    PASS_TO_PASS: Ids = ()


@dataclass(frozen=True)
class SweBenchRow:
    """A row from elsewhere, checked.

    Attributes:
        id: the instance's id, made a problem's.
        pull_request: the number at the end of the instance's id.
        upstream: the fields that a problem does not hold by itself, as texts (see ``Provenance.upstream``).
        left: names of further fields that are too large to be kept.
    """

    id: str
    instance_id: str
    repo: str
    base_commit: str
    patch: str = field(repr=False)
    test_patch: str = field(repr=False)
    statement: str = field(repr=False)
    fail_to_pass: tuple[str, ...]
    pass_to_pass: tuple[str, ...]
    created: datetime | None
    pull_request: int | None
    upstream: Mapping[str, str] = field(repr=False)
    left: tuple[str, ...] = ()


def check_row(row: Row) -> tuple[str, SweBenchRow]:
    """Return the problem's id of ``row``, and what the row says.

    Raises:
        UsageError: it is no row of SWE-bench's; names the fields that are wrong.
    """
    said = check_model(row.data, _Fields, row.place)
    kept: dict[str, Any] = {name: row.data[name] for name in FIELDS if name in row.data and name not in _DERIVED}
    further = {
        name: value
        for name, value in row.data.items()
        if name not in FIELDS and not name.startswith(PREFIX) and not name.endswith(_JSON)
    }
    upstream = _texts(kept)
    if sum(map(len, upstream.values())) > MAX_UPSTREAM:
        raise UsageError(f"its fields have more than {MAX_UPSTREAM} characters.")
    more = _texts(further)
    left = tuple(further) if sum(map(len, [*more, *more.values()])) > MAX_FURTHER else ()
    upstream |= {} if left else more
    for text in (said.problem_statement, *said.FAIL_TO_PASS, *said.PASS_TO_PASS, *upstream, *upstream.values()):
        _check_unicode(text)
    name = problem_id(said.instance_id)
    number = _PULL_REQUEST.fullmatch(said.instance_id)
    return name, SweBenchRow(
        id=name,
        instance_id=said.instance_id,
        repo=said.repo,
        base_commit=said.base_commit,
        patch=said.patch,
        test_patch=said.test_patch,
        statement=said.problem_statement,
        fail_to_pass=said.FAIL_TO_PASS,
        pass_to_pass=said.PASS_TO_PASS,
        created=_time(row.data.get("created_at")),
        pull_request=int(number[1]) if number else None,
        upstream=upstream,
        left=left,
    )


def problem_id(instance: str) -> str:
    """Return a benchmark's id of a task as an id that a problem can have.

    Raises:
        UsageError: nothing of it can be in one.
    """
    name = _NOT_IN_IDS.sub("-", instance).lstrip("._-")[:100]
    if not name:
        raise UsageError(f"the id {instance[:100]!a} has no letter or digit.")
    return name


def export_row(suite: Suite, problem: Problem, base: Tree, slug: str, setup_commit: str) -> dict[str, Any]:
    """Return ``problem`` as a row.

    Args:
        suite: the suite that it is of.
        problem: the problem.
        base: its base tree.
        slug: the repository as ``owner/name``.
        setup_commit: base commit of the first problem of its environment.
    """
    manifest, upstream = problem.manifest, problem.manifest.provenance.upstream
    date = manifest.provenance.date
    own: dict[str, Any] = {
        "repo": slug,
        "instance_id": instance_id(problem, slug),
        "base_commit": manifest.base.commit or "",
        "patch": "",
        "test_patch": "",
        "problem_statement": problem.statement,
        "hints_text": "",
        "created_at": "" if date is None else _zulu(date),
        "version": manifest.environment,
        "environment_setup_commit": setup_commit,
        "FAIL_TO_PASS": json.dumps(list(problem.tests.FAIL_TO_PASS)),
        "PASS_TO_PASS": json.dumps(list(problem.tests.PASS_TO_PASS)),
    }
    row = {**own, **{name: value for name, value in _values(upstream).items() if name not in _DERIVED}}
    row["patch"] = _patch(base, problem.fix, upstream.get("patch"))
    row["test_patch"] = _patch(base, problem.hidden, upstream.get("test_patch"))
    return {**row, **extras(suite, problem, base, row["patch"], row["test_patch"])}


def instance_ids(suite: Suite, slug: str | None) -> dict[str, str]:
    """Return the id of each problem, by its own id, in an export of ``suite`` as the repository ``slug``.

    An id that several problems would have is given to the first of them only; the others keep their own. With no
    ``slug`` a problem has the id that its row was published with, or its own.
    """
    taken: set[str] = set()
    chosen: dict[str, str] = {}
    for problem in suite.problems:
        instance = instance_id(problem, slug)
        chosen[problem.id] = instance if instance not in taken else problem.id
        taken.add(chosen[problem.id])
    return chosen


def instance_id(problem: Problem, slug: str | None) -> str:
    """Return the id that SWE-bench would give to ``problem``: that of its row, else ``owner__repo-number``."""
    provenance = problem.manifest.provenance
    published = provenance.upstream.get("instance_id")
    if published is not None or slug is None:
        return published or problem.id
    which = provenance.pull_request or (provenance.commit or "")[:12]
    made = f"{slug.replace('/', '__')}-{which}"
    return made if which and _INSTANCE.fullmatch(made) else problem.id


def _patch(base: Tree, changes: Changes, published: str | None) -> str:
    """Return the published patch where it still says ``changes``, else one that does."""
    if published is not None and patched(base, published) == dict(changes):
        return published
    return portable_patch(base, changes)


def _texts(values: Mapping[str, Any]) -> dict[str, str]:
    return {
        name if isinstance(value, str) else name + _JSON: value if isinstance(value, str) else json.dumps(value)
        for name, value in values.items()
    }


def _values(upstream: Mapping[str, str]) -> dict[str, Any]:
    return {
        name.removesuffix(_JSON): parse_json(text, f"upstream {name}") if name.endswith(_JSON) else text
        for name, text in upstream.items()
    }


def _check_unicode(text: str) -> None:
    try:
        text.encode("utf-8")
    except UnicodeEncodeError as error:
        raise UsageError("it has lone surrogates, which are no Unicode text.") from error


def _time(value: object) -> datetime | None:
    if not isinstance(value, str):
        return None
    try:
        time = datetime.fromisoformat(value)
    except ValueError:
        return None
    return time if time.tzinfo else time.replace(tzinfo=UTC)


def _zulu(date: datetime) -> str:
    zoned = date if date.tzinfo else date.replace(tzinfo=UTC)
    return zoned.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
