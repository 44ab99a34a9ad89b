"""Uploads an artifact from inside a container, by the protocol that the official client speaks ("v4").

``CreateArtifact`` gives a signed address, the zip goes there in blocks, ``FinalizeArtifact`` closes it with its size
and SHA-256. The signed address is a secret: it is in no log and in no error text.
Protocol: github.com/actions/toolkit, packages/artifact; learn.microsoft.com, "Put Block" and "Put Block List".
"""

import base64
import binascii
import hashlib
import logging
import random
import re
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Final
from urllib.parse import parse_qs, quote, urlsplit

import requests

from codegate.errors import InfrastructureError, UsageError
from codegate.github.archive import MAX_PACKED_BYTES
from codegate.github.artifacts import check_artifact_name
from codegate.reporting import one_line
from codegate.strict import open_regular, parse_json

BLOCK_BYTES: Final = 8 << 20
MAX_ARCHIVE_BYTES: Final = MAX_PACKED_BYTES + (64 << 20)

_SERVICE: Final = "twirp/github.actions.results.api.v1.ArtifactService"
_TRIES: Final = 5
_GROWTH: Final = 1.5
_REPEATED: Final = frozenset({429, 500, 502, 503, 504})
_TIMEOUTS: Final = (10.0, 60.0)  # to connect, and between two bytes
_MAX_ANSWER: Final = 1 << 20
_BACKEND_ID: Final = re.compile(r"[A-Za-z0-9._-]{1,200}")
_ELSEWHERE: Final = "Upload the folder with `actions/upload-artifact` in a step of its own."


class ArtifactExists(UsageError):
    """The run has an artifact of this name already, and artifacts do not change."""


class UploadFailed(InfrastructureError):
    """The artifact was not stored."""


@dataclass(frozen=True)
class Uploaded:
    """An artifact that is stored.

    Attributes:
        id: its id, as the REST API has it.
        name: its name.
        size: bytes of the zip.
        sha256: of the zip, 64 digits.
        expires_at: when its content will be gone; None: as the repository's settings say.
    """

    id: int
    name: str
    size: int
    sha256: str
    expires_at: datetime | None


def upload_artifact(
    environment: Mapping[str, str],
    name: str,
    archive: Path,
    *,
    retention_days: int | None = None,
    mask: Callable[[str], None] = lambda _: None,
    pause_seconds: float = 3.0,
) -> Uploaded:
    """Upload the zip ``archive`` as the artifact ``name`` of the run that this container belongs to.

    Args:
        environment: the container's, where the runner has put the service's address and a token for it.
        name: the artifact's name.
        archive: a zip.
        retention_days: how long it is kept, at most as long as the repository allows; None: as its settings say.
        mask: called with what must be in no log, before anything that holds it can be.
        pause_seconds: the first pause before something is repeated; each one after it is half as long again.

    Raises:
        UsageError: no artifact can have this name, or the runner gives containers no way to upload.
        ArtifactExists: the run has one of this name.
        UploadFailed: it was not stored.
    """
    check_artifact_name(name)
    service = _service(environment, pause_seconds)
    expires_at = _expiry(environment, retention_days)
    asked: dict[str, Any] = {"name": name, "version": 4}
    if expires_at is not None:
        asked["expires_at"] = expires_at.strftime("%Y-%m-%dT%H:%M:%SZ")
    address = _text(service.call("CreateArtifact", asked), "signed_upload_url")
    for signature in parse_qs(urlsplit(address).query).get("sig", ()):
        for form in dict.fromkeys((signature, quote(signature, safe=""))):
            mask(form)
    size, digest = service.store(address, archive)
    answer = service.call("FinalizeArtifact", {"name": name, "size": str(size), "hash": f"sha256:{digest}"})
    number = _text(answer, "artifact_id")
    if not re.fullmatch(r"[1-9][0-9]{0,18}", number):
        raise UploadFailed("the artifact service gave the artifact no id.")
    return Uploaded(int(number), name, size, digest, expires_at)


@dataclass(frozen=True)
class _Service:
    origin: str
    ids: dict[str, str]
    session: requests.Session
    authorize: Callable[[requests.PreparedRequest], requests.PreparedRequest]
    pause: float

    def call(self, method: str, body: Mapping[str, Any]) -> dict[str, Any]:
        """Return the service's answer, ``ok`` checked; its keys in either spelling."""
        url = f"{self.origin}/{_SERVICE}/{method}"
        status, data = self._repeat(
            method, lambda: self._exchange("POST", url, self.authorize, json={**self.ids, **body})
        )
        answer = _document(data)
        if status == 409:
            raise ArtifactExists(
                f"this run has an artifact {body['name']!r} already.", "Give this one another name: none is replaced."
            )
        if status not in {200, 201} or answer.get("ok") is not True:
            said = one_line(str(answer.get("msg", "")), 200)
            raise UploadFailed(f"the artifact service refused {method}: HTTP {status}{f', {said}' if said else ''}.")
        return answer

    def store(self, address: str, archive: Path) -> tuple[int, str]:
        """Store the archive where the signed ``address`` says, and return its size and SHA-256."""
        parts = urlsplit(address)
        if parts.scheme not in {"https", urlsplit(self.origin).scheme} or not parts.hostname or not parts.query:
            raise UploadFailed("the artifact service gave an address that is not used: it is not https.")
        blocks: list[str] = []
        size, digest = 0, hashlib.sha256()
        with open_regular(archive, MAX_ARCHIVE_BYTES) as file:
            while block := file.read(BLOCK_BYTES):
                blocks.append(base64.b64encode(b"%08d" % len(blocks)).decode("ascii"))
                self._put(f"{address}&comp=block&blockid={quote(blocks[-1], safe='')}", block, {})
                size += len(block)
                digest.update(block)
        listed = "".join(f"<Latest>{block}</Latest>" for block in blocks)
        document = f'<?xml version="1.0" encoding="utf-8"?><BlockList>{listed}</BlockList>'
        self._put(f"{address}&comp=blocklist", document.encode(), {"x-ms-blob-content-type": "application/zip"})
        return size, digest.hexdigest()

    def _put(self, url: str, data: bytes, headers: Mapping[str, str]) -> None:
        # The address itself is the permission; the token is nobody's business there.
        status, _ = self._repeat("upload", lambda: self._exchange("PUT", url, _unsigned, data=data, headers=headers))
        if status != 201:
            raise UploadFailed(f"the artifact's storage refused the upload: HTTP {status}.")

    def _repeat(self, what: str, once: Callable[[], tuple[int, bytes]]) -> tuple[int, bytes]:
        pause = self.pause
        for attempt in range(_TRIES):
            if attempt:
                time.sleep(pause * random.uniform(1, _GROWTH))  # noqa: S311  it spreads load, it hides nothing
                pause *= _GROWTH
            try:
                status, data = once()
            except requests.RequestException as error:
                problem = type(error).__name__  # its text has the address
                continue
            if status not in _REPEATED:
                return status, data
            problem = f"HTTP {status}"
        raise UploadFailed(
            f"the artifact service did not answer {what} ({problem}, {_TRIES} tries).",
            "See www.githubstatus.com and run again later.",
        )

    def _exchange(
        self,
        method: str,
        url: str,
        authorize: Callable[[requests.PreparedRequest], requests.PreparedRequest],
        **options: Any,
    ) -> tuple[int, bytes]:
        with self.session.request(
            method, url, auth=authorize, timeout=_TIMEOUTS, allow_redirects=False, stream=True, **options
        ) as response:
            data = bytearray()
            for piece in response.iter_content(1 << 16):
                data += piece
                if len(data) > _MAX_ANSWER:
                    raise UploadFailed("the artifact service answered with more than anybody asked for.")
            return response.status_code, bytes(data)


def _unsigned(request: requests.PreparedRequest) -> requests.PreparedRequest:
    return request  # given so that requests does not look for a .netrc


def _service(environment: Mapping[str, str], pause: float) -> _Service:
    server = urlsplit(environment.get("GITHUB_SERVER_URL") or "https://github.com").hostname or ""
    if server != "github.com" and not server.endswith((".ghe.com", ".localhost")):
        raise UsageError("GitHub Enterprise Server takes no artifacts from a container.", _ELSEWHERE)
    address, token = environment.get("ACTIONS_RESULTS_URL", ""), environment.get("ACTIONS_RUNTIME_TOKEN", "")
    parts = urlsplit(address)
    if parts.scheme not in {"https", "http"} or not parts.hostname or not token:
        raise UsageError(
            "the runner gives no way to upload artifacts: ACTIONS_RESULTS_URL or ACTIONS_RUNTIME_TOKEN is not set.",
            _ELSEWHERE,
        )

    def authorize(request: requests.PreparedRequest) -> requests.PreparedRequest:
        request.headers["Authorization"] = f"Bearer {token}"
        return request

    logging.getLogger("urllib3").setLevel(logging.INFO)  # it would print addresses that are signed
    return _Service(f"{parts.scheme}://{parts.netloc}", _backend_ids(token), requests.Session(), authorize, pause)


def _backend_ids(token: str) -> dict[str, str]:
    """Return which run and job the token is for; the service itself checks that it is genuine."""
    try:
        claims = token.split(".")[1]
        document = _document(base64.urlsafe_b64decode(claims + "=" * (-len(claims) % 4)))
        for scope in str(document.get("scp", "")).split():
            kind, *ids = scope.split(":")
            if kind == "Actions.Results" and len(ids) == 2 and all(_BACKEND_ID.fullmatch(one) for one in ids):
                return {"workflow_run_backend_id": ids[0], "workflow_job_run_backend_id": ids[1]}
    except (IndexError, binascii.Error, ValueError):
        pass
    raise UsageError("ACTIONS_RUNTIME_TOKEN is no token for uploading artifacts.", _ELSEWHERE)


def _expiry(environment: Mapping[str, str], days: int | None) -> datetime | None:
    if days is None:
        return None
    if days < 1:
        raise UsageError(f"an artifact cannot be kept for {days} days.", "Give one day or more.")
    most = environment.get("GITHUB_RETENTION_DAYS", "")
    if re.fullmatch(r"[1-9][0-9]{0,4}", most):
        days = min(days, int(most))
    return datetime.now(UTC).replace(microsecond=0) + timedelta(days=min(days, 400))


def _document(data: bytes) -> dict[str, Any]:
    try:
        document = parse_json(data.decode("utf-8"), "it")
    except (UnicodeDecodeError, UsageError):
        return {}
    if not isinstance(document, dict):
        return {}
    return {_snake(key): value for key, value in document.items()}


def _snake(key: str) -> str:
    return re.sub(r"(?<=[a-z])([A-Z])", lambda found: f"_{found[1].lower()}", key)


def _text(answer: Mapping[str, Any], key: str) -> str:
    value = answer.get(key)
    if not isinstance(value, str) or not value:
        raise UploadFailed(f"the artifact service's answer has no {key}.")
    return value
