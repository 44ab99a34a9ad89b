"""Artifacts against a service and a REST API that take and give what the real ones do."""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from codegate.errors import UsageError
from codegate.forge import GitHub, GitHubError, Gone
from codegate.github.artifacts import Artifact, BadArchive, download_artifact, list_artifacts
from tests.kit.github import FakeGitHub, Fault, Reply, Token, fake_github
from tests.kit.github.artifacts import Artifacts, Run, zipped

SECRET = "ghs_0123456789abcdefSECRET"
MOST = 1 << 20
RUN = Run(7)


@pytest.fixture
def server() -> Iterator[FakeGitHub]:
    with fake_github(tokens={SECRET: Token(frozenset({"actions: read"}))}) as github:
        yield github


def client(server: FakeGitHub) -> GitHub:
    return GitHub(server.api_url, "acme/demo", SECRET, pause_seconds=0.01)


def newest(server: FakeGitHub) -> Artifact:
    return list_artifacts(client(server), "report")[0]


def stored(server: FakeGitHub) -> Artifacts:
    return server.store(Artifacts)


def test_what_is_kept_can_be_listed_and_downloaded(server: FakeGitHub) -> None:
    kept = stored(server).put("report", zipped({"report.json": b'{"a": 1}'}), RUN)
    (listed,) = list_artifacts(client(server), "report")
    assert (listed.id, listed.name, listed.size_in_bytes) == (kept.id, "report", len(kept.data))
    assert listed.digest == kept.digest
    assert listed.workflow_run is not None
    assert listed.workflow_run.id == RUN.id
    assert list_artifacts(client(server), "report", RUN.id) == (listed,)
    assert list_artifacts(client(server), "report", 8) == ()
    assert download_artifact(client(server), listed, MOST) == kept.data


@pytest.mark.parametrize(
    "name", ["", " ", "a/b", "a\\b", 'a"', "a:b", "a<b", "a|b", "a*", "a?", "a\nb", "a" * 257, "\u202e"]
)
def test_a_name_that_no_artifact_can_have_is_refused(server: FakeGitHub, name: str) -> None:
    with pytest.raises(UsageError, match="no name of an artifact"):
        list_artifacts(client(server), name)
    assert server.requests == []


def test_a_page_is_never_all(server: FakeGitHub) -> None:
    for number in range(250):
        stored(server).put("report" if number % 2 else "other", b"x", Run(number + 1))
    found = list_artifacts(client(server), "report")
    assert len(found) == 125
    assert [artifact.id for artifact in found] == sorted((a.id for a in found), reverse=True)
    assert len(list_artifacts(client(server), "other", 3)) == 1


def test_the_newest_is_the_last_upload_whatever_its_id(server: FakeGitHub) -> None:
    now = datetime.now(UTC).replace(microsecond=0)
    first = stored(server).put("report", b"x", RUN, created_at=now - timedelta(minutes=11))
    last = stored(server).put("report", b"x", RUN, created_at=now)
    beside = stored(server).put("report", b"x", RUN, created_at=now - timedelta(minutes=11))
    del stored(server).stored[last.id]
    last.id = first.id - 1
    stored(server).stored[last.id] = last
    found = list_artifacts(client(server), "report", RUN.id)
    assert [artifact.id for artifact in found] == [last.id, beside.id, first.id]


def test_of_endless_pages_the_first_are_read(server: FakeGitHub) -> None:
    for _ in range(1101):
        stored(server).put("report", b"x", RUN)
    assert len(list_artifacts(client(server), "report")) == 1000
    assert len(server.asked("GET")) == 10


def test_what_has_expired_is_gone(server: FakeGitHub) -> None:
    stored(server).put("report", b"x", RUN, expires_at=datetime.now(UTC) - timedelta(days=1))
    with pytest.raises(Gone, match="expired"):
        download_artifact(client(server), newest(server), MOST)
    assert server.asked("GET", r".*/zip") == []


def test_what_expires_meanwhile_is_gone(server: FakeGitHub) -> None:
    put = stored(server).put("report", b"x", RUN)
    listed = newest(server)
    put.expires_at = datetime.now(UTC) - timedelta(days=1)
    with pytest.raises(Gone):
        download_artifact(client(server), listed, MOST)


def test_what_arrives_changed_is_refused(server: FakeGitHub) -> None:
    put = stored(server).put("report", zipped({"a": b"1"}), RUN)
    put.data = zipped({"a": b"2"})
    with pytest.raises(BadArchive, match="digest"):
        download_artifact(client(server), newest(server), MOST)


def test_what_is_too_large_is_not_even_asked_for(server: FakeGitHub) -> None:
    stored(server).put("report", bytes(MOST + 1), RUN)
    listed = newest(server)
    with pytest.raises(BadArchive, match="larger"):
        download_artifact(client(server), listed, MOST)
    assert server.asked("GET", r".*/zip") == []
    with pytest.raises(GitHubError, match="more than"):  # and a size that lies changes nothing
        download_artifact(client(server), listed.model_copy(update={"size_in_bytes": 1}), MOST)


@pytest.mark.parametrize(
    "changes", [{"id": "7"}, {"id": -1}, {"name": None}, {"expired": "no"}, {"created_at": "soon"}]
)
def test_a_listing_that_is_none_is_refused(server: FakeGitHub, changes: dict[str, Any]) -> None:
    entry = {"id": 7, "name": "report", "size_in_bytes": 1, "expired": False} | changes
    server.fail(Fault("GET", r".*/actions/artifacts", Reply({"artifacts": [entry]})))
    with pytest.raises(GitHubError, match="answered with"):
        list_artifacts(client(server), "report")
