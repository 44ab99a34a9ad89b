"""A problem of one commit, and the text of an issue as a statement."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from codegate.errors import UsageError
from codegate.mining import MineRequest
from codegate.operations.suites import issue_text, mine_commit
from codegate.suite import load_suite
from tests.kit.http import Reply, Request, Server
from tests.kit.repository import HistoryBuilder
from tests.mining.statement_world import BODY
from tests.mining.test_keeping import BOTH, FIXED, MEAN, NOTHING, SUMS, TEST
from tests.running.world import codegate

ISSUE = {"title": "total() of nothing fails", "body": "It raises `IndexError`.\n\nSee #12 and https://x.example/1."}


@pytest.mark.bwrap
def test_one_commit_becomes_a_problem_and_the_others_stay(history: HistoryBuilder, tmp_path: Path) -> None:
    """The second change calls itself no bug fix, and is taken all the same."""
    begin: dict[str, str | bytes | None] = {"pkg/__init__.py": "", "pkg/sums.py": SUMS, "tests/test_sums.py": TEST,
             "pyproject.toml": "[project]\nname = 'pkg'\nversion = '1'\n"}  # fmt: skip
    history.commit("begin", begin)
    fix = history.commit(
        f"Fix the total of nothing (#3){BODY}",
        {"pkg/sums.py": FIXED, "tests/test_sums.py": TEST + NOTHING},
    )
    more = history.commit(
        f"Divide in mean (#4){BODY}",
        {"pkg/sums.py": BOTH, "tests/test_sums.py": TEST + NOTHING + MEAN},
    )
    out = tmp_path / "suite"
    words = ("--suite", out, "--repository", history.folder, "--sandbox", "bwrap")
    made = codegate("new", "problem", "--from-commit", fix[:12], *words, "--json", cwd=tmp_path)
    assert made.code == 0, made.stderr + made.stdout
    (first,) = made.document["problems"]
    before = load_suite(out)
    assert (before.manifest.problems, before.manifest.scanned) == ((first,), None)
    report = mine_commit(history.folder, out, more, MineRequest(rounds=1, sandbox="bwrap"), lambda _event: None)
    assert len(report.problems) == 2, report.results
    assert load_suite(out).problems[0].digest == before.problems[0].digest
    again = codegate("new", "problem", "--from-commit", more, *words, cwd=tmp_path)
    assert (again.code, "the suite has a problem of it already" in again.stdout) == (3, True), again.stdout
    with pytest.raises(UsageError):
        mine_commit(history.folder, out, "0" * 40, MineRequest(sandbox="bwrap"), lambda _event: None)
    assert codegate("new", "problem", "x", "--from-commit", fix, *words, cwd=tmp_path).code == 2


@pytest.fixture
def forge() -> Iterator[Server]:
    def answer(received: Request) -> Reply:
        known = received.path == "/repos/acme/demo/issues/7"
        return Reply(json.dumps(ISSUE if known else {}).encode(), 200 if known else 404)

    server = Server(answer)
    yield server
    server.close()


def test_an_issue_is_a_statement_without_its_references(forge: Server) -> None:
    title, text = issue_text("acme/demo#7", "t" * 20, forge.url)
    assert title == ISSUE["title"]
    assert "It raises `IndexError`." in text
    assert "#12" not in text
    assert "x.example" not in text
    with pytest.raises(UsageError, match="is no issue"):
        issue_text("acme/demo", "", forge.url)
