"""Artifacts against a service and a REST API that take and give what the real ones do."""

import logging
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from codegate.durable import sha256
from codegate.errors import ExitCode, UsageError
from codegate.forge import GitHub, GitHubError, Gone, NotFound
from codegate.github.artifacts import (
    DamagedArtifact,
    artifact_by_id,
    artifacts_named,
    artifacts_of_run,
    check_artifact_name,
    download_artifact,
)
from codegate.github.upload import BLOCK_BYTES, ArtifactExists, Uploaded, UploadFailed, upload_artifact
from tests.github.fake import FakeGitHub, Fault, Reply, Token, fake_github
from tests.github.fake.artifacts import Artifacts, Run, zipped

SECRET = "ghs_0123456789abcdefSECRET"
MOST = 1 << 20
RUN = Run(7)
CREATE, FINALIZE, BLOB = r"/twirp/.*/CreateArtifact", r"/twirp/.*/FinalizeArtifact", r"/blob/7/.*"


@pytest.fixture
def server() -> Iterator[FakeGitHub]:
    with fake_github(tokens={SECRET: Token(frozenset({"actions: read"}))}) as github:
        yield github


@pytest.fixture
def archive(tmp_path: Path) -> Path:
    path = tmp_path / "a.zip"
    path.write_bytes(zipped({"report.json": b'{"a": 1}'}))
    return path


def client(server: FakeGitHub) -> GitHub:
    return GitHub(server.api_url, "acme/demo", SECRET, pause_seconds=0.01)


def upload(server: FakeGitHub, archive: Path, name: str = "report", **options: Any) -> Uploaded:
    environment = server.store(Artifacts).runtime(server, RUN)
    return upload_artifact(environment, name, archive, pause_seconds=0.01, **options)


def stored(server: FakeGitHub) -> Artifacts:
    return server.store(Artifacts)


@pytest.mark.parametrize("camel", [False, True], ids=["as GitHub spells it", "as act spells it"])
def test_what_is_uploaded_can_be_listed_and_downloaded(server: FakeGitHub, archive: Path, camel: bool) -> None:
    stored(server).camel = camel
    done = upload(server, archive)
    (listed,) = artifacts_named(client(server), "report")
    assert (listed.id, listed.name, listed.size_in_bytes) == (done.id, "report", done.size)
    assert listed.digest == f"sha256:{done.sha256}" == f"sha256:{sha256(archive.read_bytes())}"
    assert listed.workflow_run is not None
    assert listed.workflow_run.id == RUN.id
    assert artifacts_of_run(client(server), RUN.id) == (listed,)
    assert artifacts_of_run(client(server), RUN.id, "report") == (listed,)
    assert artifacts_of_run(client(server), 8) == ()
    assert artifact_by_id(client(server), done.id) == listed
    assert download_artifact(client(server), listed, MOST) == archive.read_bytes()
    assert stored(server).stored[done.id].version == 4


def test_a_large_archive_goes_in_blocks_in_their_order(server: FakeGitHub, tmp_path: Path) -> None:
    path = tmp_path / "large.zip"
    path.write_bytes(bytes(BLOCK_BYTES) + b"\x01" * BLOCK_BYTES + b"\x02" * 10)
    done = upload(server, path)
    assert done.size == 2 * BLOCK_BYTES + 10
    assert stored(server).stored[done.id].data == path.read_bytes()
    assert [r.query["comp"] for r in server.asked("PUT")] == ["block"] * 3 + ["blocklist"]


@pytest.mark.parametrize(("days", "most", "kept"), [(5, "90", 5), (400, "30", 30), (60, "0", 60), (60, "x", 60)])
def test_it_is_kept_as_long_as_asked_and_allowed(
    server: FakeGitHub, archive: Path, days: int, most: str, kept: int
) -> None:
    environment = stored(server).runtime(server, RUN) | {"GITHUB_RETENTION_DAYS": most}
    done = upload_artifact(environment, "report", archive, retention_days=days)
    assert done.expires_at is not None
    assert abs(done.expires_at - datetime.now(UTC) - timedelta(days=kept)) < timedelta(minutes=1)
    assert stored(server).stored[done.id].expires_at == done.expires_at


@pytest.mark.parametrize("status", [429, 500, 502, 503, 504, None])
@pytest.mark.parametrize("where", [CREATE, BLOB, FINALIZE])
def test_what_passes_is_tried_again(server: FakeGitHub, archive: Path, where: str, status: int | None) -> None:
    method = "PUT" if where == BLOB else "POST"
    server.fail(Fault(method, where, None if status is None else Reply({"msg": "later"}, status), times=4))
    done = upload(server, archive)
    assert stored(server).stored[done.id].data == archive.read_bytes()


def test_what_does_not_pass_is_given_up(server: FakeGitHub, archive: Path) -> None:
    server.fail(Fault("POST", CREATE, Reply({"msg": "later"}, 503), times=5))
    with pytest.raises(UploadFailed, match=r"CreateArtifact \(HTTP 503, 5 tries\)") as caught:
        upload(server, archive)
    assert caught.value.exit_code == ExitCode.INFRASTRUCTURE


@pytest.mark.parametrize(
    ("method", "where", "reply"),
    [
        ("POST", CREATE, Reply({"code": "permission_denied", "msg": "quota is spent\n::error::x"}, 403)),
        ("POST", CREATE, Reply({"ok": False})),
        ("POST", CREATE, Reply({"ok": True})),
        ("POST", CREATE, Reply({"ok": True, "signed_upload_url": 7})),
        ("POST", CREATE, Reply({"ok": True, "signed_upload_url": "ftp://h/x?sig=1"})),
        ("POST", CREATE, Reply(b"<html>")),
        ("POST", CREATE, Reply([])),
        ("POST", CREATE, Reply(b"{" + b" " * (2 << 20))),
        ("POST", CREATE, Reply(b"", 302, {"Location": "http://127.0.0.1:1/"})),
        ("PUT", BLOB, Reply(b"<Error/>", 403)),
        ("POST", FINALIZE, Reply({"ok": True})),
        ("POST", FINALIZE, Reply({"ok": True, "artifact_id": "-1"})),
        ("POST", FINALIZE, Reply({"code": "invalid_argument", "msg": "hash"}, 400)),
    ],
)
def test_a_refusal_is_one_clear_line(server: FakeGitHub, archive: Path, method: str, where: str, reply: Reply) -> None:
    server.fail(Fault(method, where, reply))
    with pytest.raises(UploadFailed) as caught:
        upload(server, archive)
    assert "\n" not in str(caught.value)
    assert "sig=" not in str(caught.value)
    assert len(server.asked(method, where)) == 1


def test_a_name_is_taken_once(server: FakeGitHub, archive: Path) -> None:
    environment = stored(server).runtime(server, RUN)
    upload_artifact(environment, "report", archive)
    with pytest.raises(ArtifactExists, match="'report' already"):
        upload_artifact(environment, "report", archive)


@pytest.mark.parametrize(
    "name", ["", " ", "a/b", "a\\b", 'a"', "a:b", "a<b", "a|b", "a*", "a?", "a\nb", "a" * 257, "\u202e"]
)
def test_a_name_that_no_artifact_can_have_is_refused(server: FakeGitHub, archive: Path, name: str) -> None:
    for refuse in (lambda: upload(server, archive, name), lambda: check_artifact_name(name)):
        with pytest.raises(UsageError, match="no name of an artifact"):
            refuse()
    assert server.requests == []


@pytest.mark.parametrize(
    "changes",
    [
        {"ACTIONS_RESULTS_URL": ""},
        {"ACTIONS_RUNTIME_TOKEN": ""},
        {"ACTIONS_RUNTIME_TOKEN": "x"},
        {"ACTIONS_RUNTIME_TOKEN": "a.e30.c"},
        {"ACTIONS_RUNTIME_TOKEN": "a.\u00e9\u00e9.c"},
        {"ACTIONS_RUNTIME_TOKEN": "a.eyJzY3AiOiJBY3Rpb25zLlJlc3VsdHM6YSJ9.c"},
        {"GITHUB_SERVER_URL": "https://ghe.example.com"},
    ],
)
def test_a_runner_that_takes_no_uploads_is_named(server: FakeGitHub, archive: Path, changes: dict[str, str]) -> None:
    environment = stored(server).runtime(server, RUN) | changes
    with pytest.raises(UsageError, match=r"actions/upload-artifact") as caught:
        upload_artifact(environment, "report", archive)
    assert changes.get("ACTIONS_RUNTIME_TOKEN") in {None, "", "x"} or "eyJ" not in str(caught.value)
    assert server.requests == []


def test_what_is_secret_is_masked_and_in_no_log(
    server: FakeGitHub, archive: Path, caplog: pytest.LogCaptureFixture, capfd: pytest.CaptureFixture[str]
) -> None:
    caplog.set_level(logging.DEBUG)
    caplog.set_level(logging.NOTSET, logger="urllib3")  # as it is before anything here is used
    masked: list[str] = []
    upload(server, archive, mask=masked.append)
    (plain, quoted) = masked
    assert plain == server.asked("PUT")[0].query["sig"]
    assert quoted == plain.replace("+", "%2B").replace("/", "%2F").replace("=", "%3D")
    (listed,) = artifacts_named(client(server), "report")
    download_artifact(client(server), listed, MOST)
    (token,) = stored(server).scopes
    said = caplog.text + "".join(capfd.readouterr())
    assert all(secret not in said for secret in (plain, quoted, token, "sig=", SECRET))


def test_the_storage_sees_no_token(server: FakeGitHub, archive: Path, tmp_path: Path, monkeypatch: Any) -> None:
    (tmp_path / "netrc").write_text("machine 127.0.0.1 login a password b\n")
    monkeypatch.setenv("NETRC", str(tmp_path / "netrc"))
    upload(server, archive)
    assert all("authorization" not in request.headers for request in server.asked("PUT"))


def test_a_page_is_never_all(server: FakeGitHub) -> None:
    for number in range(250):
        stored(server).put("report" if number % 2 else "other", b"x", Run(number + 1))
    found = artifacts_named(client(server), "report")
    assert len(found) == 125
    assert [artifact.id for artifact in found] == sorted((a.id for a in found), reverse=True)
    assert len(artifacts_of_run(client(server), 3)) == 1


def test_of_endless_pages_the_first_are_read(server: FakeGitHub) -> None:
    for _ in range(1101):
        stored(server).put("report", b"x", RUN)
    assert len(artifacts_named(client(server), "report")) == 1000
    assert len(server.asked("GET")) == 10


def test_what_has_expired_is_gone(server: FakeGitHub) -> None:
    old = stored(server).put("report", b"x", RUN, expires_at=datetime.now(UTC) - timedelta(days=1))
    with pytest.raises(Gone, match="expired"):
        download_artifact(client(server), artifact_by_id(client(server), old.id), MOST)
    assert server.asked("GET", r".*/zip") == []


def test_what_expires_meanwhile_is_gone(server: FakeGitHub) -> None:
    put = stored(server).put("report", b"x", RUN)
    listed = artifact_by_id(client(server), put.id)
    put.expires_at = datetime.now(UTC) - timedelta(days=1)
    with pytest.raises(Gone):
        download_artifact(client(server), listed, MOST)


def test_what_is_not_there_is_not_found(server: FakeGitHub) -> None:
    with pytest.raises(NotFound):
        artifact_by_id(client(server), 77)


def test_what_arrives_changed_is_refused(server: FakeGitHub) -> None:
    put = stored(server).put("report", zipped({"a": b"1"}), RUN)
    put.data = zipped({"a": b"2"})
    with pytest.raises(DamagedArtifact, match="digest"):
        download_artifact(client(server), artifact_by_id(client(server), put.id), MOST)


def test_what_arrives_in_part_is_no_artifact(server: FakeGitHub) -> None:
    put = stored(server).put("report", zipped({"a": b"1"}), RUN)
    server.fail(Fault("GET", r"/blob/read\.zip", cut=20, times=4))
    with pytest.raises(GitHubError):
        download_artifact(client(server), artifact_by_id(client(server), put.id), MOST)


def test_what_is_too_large_is_not_even_asked_for(server: FakeGitHub) -> None:
    put = stored(server).put("report", bytes(MOST + 1), RUN)
    listed = artifact_by_id(client(server), put.id)
    with pytest.raises(DamagedArtifact, match="larger"):
        download_artifact(client(server), listed, MOST)
    assert server.asked("GET", r".*/zip") == []
    with pytest.raises(GitHubError, match="more than"):  # and a size that lies changes nothing
        download_artifact(client(server), listed.model_copy(update={"size_in_bytes": 1}), MOST)


@pytest.mark.parametrize(
    "changes",
    [
        {"id": "7"},
        {"id": -1},
        {"name": None},
        {"expired": "no"},
        {"created_at": "x"},
        {"expires_at": "2026-01-01T00:00"},
    ],
)
def test_a_listing_that_is_none_is_refused(server: FakeGitHub, changes: dict[str, Any]) -> None:
    entry = {"id": 7, "name": "report", "size_in_bytes": 1, "expired": False} | changes
    server.fail(Fault("GET", r".*/actions/artifacts", Reply({"artifacts": [entry]})))
    with pytest.raises(GitHubError, match="answered with"):
        artifacts_named(client(server), "report")


def test_another_artifact_than_the_one_asked_for_is_refused(server: FakeGitHub) -> None:
    entry = {"id": 7, "name": "report", "size_in_bytes": 1, "expired": False}
    server.fail(Fault("GET", r".*/actions/artifacts/8", Reply(entry)))
    with pytest.raises(GitHubError, match="another artifact"):
        artifact_by_id(client(server), 8)
