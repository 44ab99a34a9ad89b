"""SWE-bench's rows, which most later benchmarks share.

Their twelve fields, of princeton-nlp's data sets: ``repo``, ``instance_id``, ``base_commit``, ``patch``,
``test_patch``, ``problem_statement``, ``hints_text``, ``created_at``, ``version``, ``environment_setup_commit``,
``FAIL_TO_PASS`` and ``PASS_TO_PASS`` (lists as JSON texts). ``hints_text``, ``version`` and
``environment_setup_commit`` are written but not read.
"""

import json
import re
from datetime import UTC, datetime
from typing import Annotated, Final

from pydantic import BeforeValidator, Field, StringConstraints

from codegate.errors import UsageError
from codegate.strict import Lenient, parse_json
from codegate.suite.loaded import Problem, Suite
from codegate.suite.model import Commit
from codegate.suite.patch import make_patch
from codegate.suite.reader import check_model
from codegate.suite.tree import Changes, Tree

_NOT_IN_IDS: Final = re.compile(r"[^A-Za-z0-9._-]+")
_PULL_REQUEST: Final = re.compile(r".+-(\d{1,9})")
_INSTANCE: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}")


def _list(value: object) -> object:
    if value is None or value == "":
        return []
    return parse_json(value, "the list") if isinstance(value, str) else value


def _text(value: object) -> str:
    return "" if value is None else value if isinstance(value, str) else json.dumps(value)


# Each text has a constraint: only then does pydantic refuse lone surrogates.
Text = Annotated[str, StringConstraints(min_length=1)]
Ids = Annotated[tuple[Text, ...], BeforeValidator(_list)]
Short = Annotated[str, BeforeValidator(_text), StringConstraints(max_length=1000)]


class SweBenchRow(Lenient):
    """A checked row of a data set in SWE-bench's format."""

    repo: Annotated[str, StringConstraints(pattern=r"^[\w.-]+/[\w.-]+$", max_length=200)]
    instance_id: Annotated[str, StringConstraints(min_length=1, max_length=200)]
    base_commit: Commit
    patch: Text = Field(repr=False)
    test_patch: Text = Field(repr=False)
    problem_statement: Annotated[str, StringConstraints(pattern=r"\S")] = Field(repr=False)
    created_at: Short = ""
    FAIL_TO_PASS: Ids = ()
    PASS_TO_PASS: Ids = ()

    @property
    def id(self) -> str:
        """Return the row's instance id as a valid problem id."""
        return usable_id(self.instance_id)

    @property
    def pull_request(self) -> int | None:
        """Return the number at the instance id's end, or None."""
        number = _PULL_REQUEST.fullmatch(self.instance_id)
        return int(number[1]) if number else None

    @property
    def created(self) -> datetime | None:
        """Return ``created_at`` (UTC if without a zone); None if unreadable."""
        try:
            return _zoned(datetime.fromisoformat(self.created_at))
        except ValueError:
            return None


def check_row(row: object, place: str) -> tuple[str, SweBenchRow]:
    """Return the row's problem id, and the checked row.

    Raises:
        UsageError: it is no SWE-bench row; the message names ``place`` and the wrong fields.
    """
    checked = check_model(row, SweBenchRow, place)
    return checked.id, checked


def usable_id(instance: str) -> str:
    """Return a benchmark's id as a valid problem id.

    Raises:
        UsageError: no character of ``instance`` is valid in a problem id.
    """
    name = _NOT_IN_IDS.sub("-", instance).lstrip("._-")[:100]
    if not name:
        raise UsageError(f"the id {instance[:100]!a} has no letter or digit.")
    return name


def export_row(problem: Problem, base: Tree, slug: str, instance: str, setup_commit: str) -> dict[str, str]:
    """Return ``problem`` as a row of SWE-bench.

    ``slug`` is ``owner/repo``, ``instance`` the row's id, and ``setup_commit`` the base commit of the first problem in
    the same environment.

    Raises:
        UsageError: the problem has no base commit, or its changes are not UTF-8 text.
    """
    manifest = problem.manifest
    if manifest.base.commit is None:
        raise UsageError("its base tree is a folder of the suite; a row needs a base commit.")
    date = manifest.provenance.date
    return {
        "repo": slug,
        "instance_id": instance,
        "base_commit": manifest.base.commit,
        "patch": _patch(base, problem.fix),
        "test_patch": _patch(base, problem.hidden),
        "problem_statement": problem.statement,
        "hints_text": "",
        "created_at": "" if date is None else _zoned(date).astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),
        "version": manifest.environment,
        "environment_setup_commit": setup_commit,
        "FAIL_TO_PASS": json.dumps(problem.tests.FAIL_TO_PASS),
        "PASS_TO_PASS": json.dumps(problem.tests.PASS_TO_PASS),
    }


def instance_ids(suite: Suite, slug: str | None) -> dict[str, str]:
    """Return each problem's id in an export of ``suite``.

    A problem that was made from a published row keeps that row's id. Another one gets ``owner__repo-number`` if
    ``slug`` (``owner/repo``) is given, else its own id. If several problems would share an id, the first one gets it,
    and the other problems keep their own ids.
    """
    taken: set[str] = set()
    chosen: dict[str, str] = {}
    for problem in suite.problems:
        instance = _instance_id(problem, slug)
        chosen[problem.id] = instance if instance not in taken else problem.id
        taken.add(chosen[problem.id])
    return chosen


def _instance_id(problem: Problem, slug: str | None) -> str:
    provenance = problem.manifest.provenance
    if provenance.upstream is not None or slug is None:
        return provenance.upstream or problem.id
    which = provenance.pull_request or (provenance.commit or "")[:12]
    made = f"{slug.replace('/', '__')}-{which}"
    return made if which and _INSTANCE.fullmatch(made) else problem.id


def _patch(base: Tree, changes: Changes) -> str:
    patch = make_patch(base, changes)
    if not patch.isascii() and any("\ud800" <= character <= "\udfff" for character in patch):
        raise UsageError("it changes files (or paths) that are not UTF-8 text; a row cannot hold them.")
    return patch


def _zoned(time: datetime) -> datetime:
    return time if time.tzinfo else time.replace(tzinfo=UTC)
