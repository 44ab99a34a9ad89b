"""Private package indexes: their packages are installed, and who fetched them is written nowhere."""

import base64
import hashlib
import io
import json
import tarfile
import zipfile
from collections.abc import Iterator
from contextlib import closing
from datetime import date
from pathlib import Path

import pytest

from codegate.errors import CodegateError, InfrastructureError
from codegate.sandbox import AgentRecipe, SandboxError
from codegate.sandbox.environment import build_environment, node_site
from codegate.sandbox.npm import resolve_npm
from codegate.sandbox.resolution import lock_wheels
from tests.conftest import PYTHON
from tests.kit.http import Reply, Request, Server, as_json
from tests.kit.packages import NODE_LOCK

USER, PASSWORD = "ada-of-acme", "sesame77"
ENCODED = base64.b64encode(f"{USER}:{PASSWORD}".encode()).decode()
SECRETS = [text.encode() for text in (USER, PASSWORD, ENCODED)]


def wheel() -> bytes:
    buffer, about = io.BytesIO(), "acme_core-1.0.dist-info"
    with zipfile.ZipFile(buffer, "w") as archive:
        archive.writestr(zipfile.ZipInfo("acme_core.py"), "ZERO = 0\n")
        archive.writestr(zipfile.ZipInfo(f"{about}/METADATA"), "Metadata-Version: 2.1\nName: acme-core\nVersion: 1.0\n")
        archive.writestr(zipfile.ZipInfo(f"{about}/WHEEL"), "Wheel-Version: 1.0\nTag: py3-none-any\n")
        archive.writestr(zipfile.ZipInfo(f"{about}/RECORD"), "")
    return buffer.getvalue()


def tarball() -> bytes:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w:gz") as archive:
        for name, text in {"package.json": '{"name": "@acme/core", "version": "1.0.0"}', "index.js": ""}.items():
            entry = tarfile.TarInfo(f"package/{name}")
            entry.size = len(text)
            archive.addfile(entry, io.BytesIO(text.encode()))
    return buffer.getvalue()


WHEEL, TARBALL = wheel(), tarball()


@pytest.fixture
def index() -> Iterator[Server]:
    """An index of one wheel, without upload days as most private ones, and a registry of one npm package."""
    file = "acme_core-1.0-py3-none-any.whl"
    integrity = f"sha512-{base64.b64encode(hashlib.sha512(TARBALL).digest()).decode()}"

    def respond(request: Request) -> Reply:
        if request.headers.get("authorization") != f"Basic {ENCODED}":
            return Reply(b"who are you?", 401, {"WWW-Authenticate": "Basic"})
        match request.path:
            case "/simple/acme-core/":
                digest = hashlib.sha256(WHEEL).hexdigest()
                page = f'<a href="/files/{file}#sha256={digest}">{file}</a>'
                return Reply(page.encode(), headers={"Content-Type": "text/html"})
            case "/npm/@acme%2fcore":
                address = f"http://{request.headers['host']}/npm/@acme/core/-/core-1.0.0.tgz"
                version = {
                    "name": "@acme/core",
                    "version": "1.0.0",
                    "dist": {"tarball": address, "integrity": integrity},
                }
                return as_json({"name": "@acme/core", "dist-tags": {"latest": "1.0.0"}, "versions": {"1.0.0": version}})
            case "/npm/@acme/core/-/core-1.0.0.tgz":
                return Reply(TARBALL)
        return Reply(WHEEL if request.path == f"/files/{file}" else b"", 200 if file in request.path else 404)

    with closing(Server(respond)) as server:
        yield server


def address(index: Server, password: str = PASSWORD) -> str:
    return index.url.replace("://", f"://{USER}:{password}@") + "/simple/"


def assert_unknown(content: bytes, where: object) -> None:
    assert not [secret for secret in SECRETS if secret in content], where


def test_an_index_that_refuses_credentials_is_named_without_them(
    index: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CODEGATE_CACHE", str(tmp_path))
    monkeypatch.setenv("UV_INDEX", f"acme={index.url}/simple/")
    monkeypatch.setenv("UV_INDEX_ACME_USERNAME", USER)
    monkeypatch.setenv("UV_INDEX_ACME_PASSWORD", PASSWORD)
    wanted = ("acme-core",), PYTHON, date(2026, 1, 1)
    lock = lock_wheels(*wanted)
    monkeypatch.delenv("UV_INDEX_ACME_USERNAME")
    errors: list[CodegateError] = []
    for wrong in (address(index, "sesame77x"), address(index).replace(":", ":x", 1), "http://ada-of-acme:sesame77@[/"):
        monkeypatch.setenv("UV_INDEX", wrong)
        with pytest.raises(SandboxError) as failed:
            build_environment(AgentRecipe(PYTHON, lock))
        errors.append(failed.value)
    monkeypatch.setenv("UV_INDEX", address(index, "sesame77x"))
    with pytest.raises(InfrastructureError, match=f"{index.url}/simple/"):
        lock_wheels(*wanted)
    assert index.url in str(errors[0])
    for error in errors:
        assert_unknown(f"{error} {error.remedy}".encode(), error)


@pytest.mark.full
def test_a_registry_of_a_users_npmrc_is_asked_and_its_token_is_in_no_file(
    index: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As ``actions/setup-node`` writes it: the file names a variable, and the variable has the token."""
    place = index.url.removeprefix("http:")
    settings = tmp_path / "npmrc"
    settings.write_text(f"@acme:registry={index.url}/npm/\n{place}/npm/:_auth=${{ACME_TOKEN}}\n")
    monkeypatch.setenv("NPM_CONFIG_USERCONFIG", str(settings))
    monkeypatch.setenv("ACME_TOKEN", ENCODED)
    toolchain = AgentRecipe(PYTHON, NODE_LOCK)
    node = node_site(toolchain)
    manifest = json.dumps({"name": "sums", "dependencies": {"@acme/core": "^1.0.0"}})

    locked = resolve_npm(node, manifest, None)
    assert locked is not None
    files = (("package-lock.json", locked), ("package.json", manifest))
    built = build_environment(AgentRecipe(PYTHON, toolchain.lock, files))

    assert (built.packages / "node_modules" / "@acme" / "core" / "index.js").is_file()
    assert_unknown(locked.encode(), "lock")
    for file in built.packages.rglob("*"):
        if file.is_file():
            assert_unknown(file.read_bytes(), file)
    monkeypatch.setenv("ACME_TOKEN", ENCODED[:-4])
    with pytest.raises(InfrastructureError, match="npm registry") as failed:
        resolve_npm(node, manifest, None)
    assert_unknown(f"{failed.value} {failed.value.remedy}".encode(), "error")
