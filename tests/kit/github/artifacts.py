"""Artifacts of the fake: the service that runs upload to, its blob storage, and the REST API, over one store.

As strict as the real ones, or stricter: what the official client (npm, ``@actions/artifact``) sends and takes is
what this takes and sends. Protocol: github.com/actions/toolkit, packages/artifact; docs.github.com/rest/actions.
"""

import base64
import io
import json
import re
import secrets
import zipfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from hashlib import sha256
from typing import Any
from urllib.parse import quote, unquote
from xml.etree import ElementTree

from tests.kit.github.rest import HOME
from tests.kit.github.server import FakeGitHub, Listing, Reply, Request, route

REPOSITORY_ID = HOME
MAX_DAYS = 90

_SERVICE = r"/twirp/github\.actions\.results\.api\.v1\.ArtifactService"
_REPO = r"/repos/acme/demo"
_MAX_BLOCK = 8 << 20
_TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{1,9})?Z")
_FORBIDDEN = frozenset('":<>|*?\r\n\\/')
_IDS = {"workflow_run_backend_id", "workflow_job_run_backend_id"}


def zipped(files: Mapping[str, bytes]) -> bytes:
    """Return a zip of ``files``."""
    target = io.BytesIO()
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive:
        for name, data in files.items():
            archive.writestr(name, data)
    return target.getvalue()


@dataclass(frozen=True)
class Run:
    """A run as the REST API shows it; by default one that can be trusted."""

    id: int
    event: str = "workflow_dispatch"
    path: str = ".github/workflows/codegate-baseline.yml"
    conclusion: str | None = "success"
    head_branch: str | None = "main"
    head_repository_id: int | None = REPOSITORY_ID
    head_sha: str = "a" * 40
    repository_id: int = REPOSITORY_ID

    def document(self) -> dict[str, Any]:
        head = None if self.head_repository_id is None else {"id": self.head_repository_id}
        return {
            "id": self.id,
            "event": self.event,
            "path": self.path,
            "status": "completed" if self.conclusion else "in_progress",
            "conclusion": self.conclusion,
            "head_branch": self.head_branch,
            "head_sha": self.head_sha,
            "head_repository": head,
            "repository": {"id": self.repository_id},
        }


@dataclass
class Stored:
    """An artifact; ``digest`` None: uploaded before digests were kept, or on a server that keeps none."""

    id: int
    name: str
    data: bytes
    run: int
    digest: str | None
    created_at: datetime
    expires_at: datetime
    version: int = 4


@dataclass
class _Upload:
    name: str
    version: int
    run: int
    expires_at: datetime
    signature: str
    blocks: dict[str, bytes] = field(default_factory=dict)
    blob: bytes | None = None


class Artifacts:
    """What one server keeps: ``github.store(Artifacts)``; ``elsewhere`` is another origin for what is downloaded."""

    def __init__(self) -> None:
        self.runs: dict[int, Run] = {}
        self.stored: dict[int, Stored] = {}
        self.scopes: dict[str, tuple[int, str]] = {}
        self.elsewhere: str | None = None
        self._uploads: dict[tuple[int, str], _Upload] = {}
        self._links: dict[str, bytes] = {}
        self._next = 9000

    def runtime(self, github: FakeGitHub, run: Run) -> dict[str, str]:
        """Return what the runner gives a step of ``run``, to upload with."""
        self.runs[run.id] = run
        ids = f"run-{run.id}:job-{secrets.token_hex(4)}"
        claims = {"scp": f"Actions.ExampleScope Actions.Results:{ids}", "ac": "[]"}
        parts = (json.dumps({"alg": "none"}), json.dumps(claims), secrets.token_hex(16))
        token = ".".join(base64.urlsafe_b64encode(part.encode()).decode().rstrip("=") for part in parts)
        self.scopes[token] = (run.id, ids)
        return {
            "ACTIONS_RESULTS_URL": f"{github.origin}/results/",
            "ACTIONS_RUNTIME_URL": f"{github.origin}/runtime/",
            "ACTIONS_RUNTIME_TOKEN": token,
            "GITHUB_RETENTION_DAYS": str(MAX_DAYS),
            "GITHUB_RUN_ID": str(run.id),
        }

    def put(self, name: str, data: bytes, run: Run, **changes: Any) -> Stored:
        """Store an artifact as if ``run`` had uploaded it."""
        self.runs[run.id] = run
        self._next += 1
        now = datetime.now(UTC).replace(microsecond=0)
        found = Stored(
            id=self._next,
            name=name,
            data=data,
            run=run.id,
            digest=f"sha256:{sha256(data).hexdigest()}",
            created_at=now,
            expires_at=now + timedelta(days=MAX_DAYS),
        )
        for key, value in changes.items():
            setattr(found, key, value)
        self.stored[found.id] = found
        return found

    def signed(self, github: FakeGitHub, data: bytes) -> str:
        """Return an address that gives ``data`` to whoever has it."""
        signature = secrets.token_urlsafe(12) + "+/="
        self._links[signature] = data
        return f"{self.elsewhere or github.origin}/blob/read.zip?sv=2025&sig={quote(signature, safe='')}"

    def linked(self, signature: str) -> bytes | None:
        return self._links.get(signature)

    def begin(self, github: FakeGitHub, run: int, body: Mapping[str, Any]) -> Reply:
        name = _name(body)
        if (run, name) in self._uploads or any(a.run == run and a.name == name for a in self.stored.values()):
            return _error("already_exists", "an artifact with this name already exists on the workflow run", 409)
        now = datetime.now(UTC)
        ends = now + timedelta(days=MAX_DAYS)
        if "expires_at" in body:
            if not _TIME.fullmatch(body["expires_at"]):
                raise _Refused("expires_at is no RFC 3339 time")
            ends = datetime.fromisoformat(body["expires_at"])
            if not now < ends <= now + timedelta(days=MAX_DAYS, minutes=1):
                raise _Refused("expires_at is out of range")
        version = body.get("version")
        if version not in {4, 7} or (version == 7) != ("mime_type" in body):
            raise _Refused("version and mime_type do not fit")
        upload = _Upload(name, version, run, ends, secrets.token_urlsafe(12) + "+/=")
        self._uploads[run, name] = upload
        address = f"{github.origin}/blob/{run}/{quote(name)}.zip?sv=2025-01-05&sig={quote(upload.signature, safe='')}"
        return Reply({"ok": True, "signed_upload_url": address})

    def upload(self, run: int, name: str) -> _Upload | None:
        return self._uploads.get((run, name))

    def finish(self, run: int, body: Mapping[str, Any]) -> Reply:
        name = _name(body)
        upload = self._uploads.get((run, name))
        if upload is None or upload.blob is None:
            raise _Refused("nothing was uploaded")
        if body.get("size") != str(len(upload.blob)):
            raise _Refused("size is not that of the blob, or no string")
        digest = f"sha256:{sha256(upload.blob).hexdigest()}"
        if body.get("hash") != digest:
            raise _Refused("hash is not that of the blob")
        del self._uploads[run, name]
        stored = self.put(name, upload.blob, self.runs[run], expires_at=upload.expires_at, version=upload.version)
        return Reply({"ok": True, "artifact_id": str(stored.id)})


class _Refused(Exception):
    """What the service answers with HTTP 400."""


def _name(body: Mapping[str, Any]) -> str:
    name = body.get("name")
    if not isinstance(name, str) or not name or set(name) & _FORBIDDEN:
        raise _Refused("name is not valid")
    return name


def _error(code: str, message: str, status: int) -> Reply:
    return Reply({"code": code, "msg": message}, status)


Method = Callable[[FakeGitHub, Artifacts, int, Mapping[str, Any]], Reply]


def _service(name: str, keys: set[str]) -> Callable[[Method], Method]:
    def add(method: Method) -> Method:
        @route("POST", f"{_SERVICE}/{name}", outside=True)
        def answer(github: FakeGitHub, request: Request) -> Reply:
            store = github.store(Artifacts)
            scheme, _, token = request.headers.get("authorization", "").partition(" ")
            if scheme != "Bearer" or token not in store.scopes:
                return _error("unauthenticated", "bad token", 401)
            if not request.headers.get("content-type", "").startswith("application/json"):
                return _error("bad_route", "unexpected Content-Type", 404)
            run, ids = store.scopes[token]
            body = request.body
            unknown = set(body) - keys - _IDS
            if unknown:
                return _error("malformed", f"unknown field {sorted(unknown)}", 400)
            if ":".join(str(body.get(key)) for key in sorted(_IDS, reverse=True)) != ids:
                return _error("permission_denied", "these ids are not the token's", 403)
            try:
                return method(github, store, run, body)
            except _Refused as error:
                return _error("invalid_argument", str(error), 400)

        return method

    return add


@_service("CreateArtifact", {"name", "version", "expires_at", "mime_type"})
def _create(github: FakeGitHub, store: Artifacts, run: int, body: Mapping[str, Any]) -> Reply:
    return store.begin(github, run, body)


@_service("FinalizeArtifact", {"name", "size", "hash"})
def _finalize(github: FakeGitHub, store: Artifacts, run: int, body: Mapping[str, Any]) -> Reply:
    return store.finish(run, body)


@_service("ListArtifacts", {"name_filter", "id_filter"})
def _list(github: FakeGitHub, store: Artifacts, run: int, body: Mapping[str, Any]) -> Reply:
    found = [
        {
            **{key: body[key] for key in _IDS},
            "database_id": str(artifact.id),
            "name": artifact.name,
            "size": str(len(artifact.data)),
            "created_at": _time(artifact.created_at),
            "digest": artifact.digest,
        }
        for artifact in store.stored.values()
        if artifact.run == run
        and body.get("name_filter") in {None, artifact.name}
        and body.get("id_filter") in {None, str(artifact.id)}
    ]
    return Reply({"artifacts": found})


@_service("GetSignedArtifactURL", {"name"})
def _address(github: FakeGitHub, store: Artifacts, run: int, body: Mapping[str, Any]) -> Reply:
    found = [artifact for artifact in store.stored.values() if artifact.run == run and artifact.name == body["name"]]
    if not found:
        return _error("not_found", "artifact not found", 404)
    return Reply({"signed_url": store.signed(github, found[-1].data)})


@route("PUT", r"/blob/(\d+)/(.+)\.zip", outside=True)
def _put_blob(github: FakeGitHub, request: Request) -> Reply:
    run, name = request.groups
    upload = github.store(Artifacts).upload(int(run), unquote(name))
    if "authorization" in request.headers:  # two ways to prove oneself at once
        return Reply(b"<Error><Code>InvalidAuthenticationInfo</Code></Error>", 400)
    if upload is None or request.query.get("sig") != upload.signature:
        return Reply(b"<Error><Code>AuthenticationFailed</Code></Error>", 403)
    match request.query.get("comp"):
        case "block":
            block = request.query.get("blockid", "")
            base64.b64decode(block, validate=True)
            lengths = {len(other) for other in upload.blocks} | {len(block)}
            if not block or len(lengths) > 1 or not request.raw or len(request.raw) > _MAX_BLOCK:
                return Reply(b"<Error><Code>InvalidBlobOrBlock</Code></Error>", 400)
            upload.blocks[block] = request.raw
        case "blocklist":
            listed = [entry.text or "" for entry in ElementTree.fromstring(request.raw)]
            if not set(listed) <= set(upload.blocks):
                return Reply(b"<Error><Code>InvalidBlockList</Code></Error>", 400)
            upload.blob = b"".join(upload.blocks[block] for block in listed)
        case None if request.headers.get("x-ms-blob-type") == "BlockBlob":
            upload.blob = request.raw
        case _:
            return Reply(b"<Error><Code>MissingRequiredHeader</Code></Error>", 400)
    return Reply(b"", 201, {"ETag": '"0x8D"', "x-ms-request-server-encrypted": "true"})


@route("GET", r"/blob/read\.zip", outside=True)
def _get_blob(github: FakeGitHub, request: Request) -> Reply:
    if "authorization" in request.headers:
        github.violations.append("a token was sent to the storage")
        return Reply(b"<Error><Code>InvalidAuthenticationInfo</Code></Error>", 400)
    data = github.store(Artifacts).linked(request.query.get("sig", ""))
    if data is None:
        return Reply(b"<Error><Code>AuthenticationFailed</Code></Error>", 403)
    return Reply(data, headers={"Content-Type": "application/zip"})


@route("GET", rf"{_REPO}/actions/artifacts", needs="actions: read")
def _all(github: FakeGitHub, request: Request) -> Listing:
    return Listing(_shown(github, request, None), "artifacts")


@route("GET", rf"{_REPO}/actions/runs/(\d+)/artifacts", needs="actions: read")
def _of_run(github: FakeGitHub, request: Request) -> Listing:
    return Listing(_shown(github, request, int(request.groups[0])), "artifacts")


@route("GET", rf"{_REPO}/actions/artifacts/(\d+)/zip", needs="actions: read")
def _zip(github: FakeGitHub, request: Request) -> Reply:
    store = github.store(Artifacts)
    found = store.stored.get(int(request.groups[0]))
    if found is None:
        return Reply({"message": "Not Found"}, 404)
    if found.expires_at <= datetime.now(UTC):
        return Reply({"message": "Artifact has expired"}, 410)
    return Reply(b"", 302, {"Location": store.signed(github, found.data)})


@route("GET", rf"{_REPO}/actions/runs/(\d+)", needs="actions: read")
def _run(github: FakeGitHub, request: Request) -> object:
    found = github.store(Artifacts).runs.get(int(request.groups[0]))
    return Reply({"message": "Not Found"}, 404) if found is None else found.document()


def _shown(github: FakeGitHub, request: Request, run: int | None) -> list[Any]:
    store = github.store(Artifacts)
    name = request.query.get("name")
    found = [a for a in store.stored.values() if name in {None, a.name} and run in {None, a.run}]
    return [_document(github, store, artifact) for artifact in sorted(found, key=lambda a: a.id, reverse=True)]


def _document(github: FakeGitHub, store: Artifacts, artifact: Stored) -> dict[str, Any]:
    run = store.runs[artifact.run]
    url = f"{github.api_url}{_REPO}/actions/artifacts/{artifact.id}"
    return {
        "id": artifact.id,
        "node_id": "x",
        "name": artifact.name,
        "size_in_bytes": len(artifact.data),
        "url": url,
        "archive_download_url": f"{url}/zip",
        "expired": artifact.expires_at <= datetime.now(UTC),
        "digest": artifact.digest,
        "created_at": _time(artifact.created_at),
        "updated_at": _time(artifact.created_at),
        "expires_at": _time(artifact.expires_at),
        "workflow_run": {
            "id": run.id,
            "repository_id": run.repository_id,
            "head_repository_id": run.head_repository_id,
            "head_branch": run.head_branch,
            "head_sha": run.head_sha,
        },
    }


def _time(moment: datetime) -> str:
    return moment.strftime("%Y-%m-%dT%H:%M:%SZ")
