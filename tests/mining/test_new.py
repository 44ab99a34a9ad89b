"""The text of an issue as a statement."""

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
