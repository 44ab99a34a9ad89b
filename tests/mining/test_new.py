"""The text of an issue as a statement."""

import contextlib
import json
from collections.abc import Iterator

import pytest

from codegate.errors import UsageError
from codegate.operations.suites import issue_text
from tests.kit.http import Reply, Request, Server

ISSUE = {"title": "total() of nothing fails", "body": "It raises `IndexError`.\n\nSee #12 and https://x.example/1."}


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


def test_the_title_of_an_issue_has_no_references_in_the_statement() -> None:
    issue = {"title": "Fails\u202e as a/b#12 says", "body": "words\n" * 10_000}
    with contextlib.closing(Server(lambda _: Reply(json.dumps(issue).encode()))) as server:
        title, text = issue_text("acme/demo#7", "t" * 20, server.url)
    assert (title, text.splitlines()[0], 5990 < len(text) <= 6000) == ("Fails as a/b#12 says", "Fails as says", True)
