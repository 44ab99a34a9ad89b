"""Private package indexes: their packages are installed, and who fetched them is written nowhere."""

import base64
import hashlib
import io
import json
import os
import tarfile
import zipfile
from collections.abc import Iterator
from contextlib import closing
from datetime import date
from pathlib import Path

import pytest

from codegate.errors import CodegateError, InfrastructureError
from codegate.languages.javascript.environments import TOOLCHAINS
from codegate.languages.javascript.packages import resolve_npm
from codegate.sandbox import EnvironmentRecipe, SandboxError
from codegate.sandbox.environment import build_environment
from codegate.sandbox.resolution import Question, resolve
from codegate.suite import load_suite
from tests.conftest import PYTHON
from tests.kit.command import FORKER
from tests.kit.http import Reply, Request, Server, as_json
from tests.kit.repository import HistoryBuilder
from tests.mining.statement_world import BODY

USER, PASSWORD = "ada-of-acme", "sesame77"
ENCODED = base64.b64encode(f"{USER}:{PASSWORD}".encode()).decode()
SECRETS = [text.encode() for text in (USER, PASSWORD, ENCODED)]
SOURCE = "from acme_core import ZERO\n\n\ndef total(items):\n    return ITEMS\n"
TEST = """
import os
from sums import total

def test_total():
    assert total([1, 2]) == 3

def test_total_of_nothing():
    assert total([]) == 0

def test_no_credentials_are_here():
    assert not [name for name, value in os.environ.items() if "sesame" in value]
"""


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


@pytest.mark.bwrap
@pytest.mark.requirement("M8")
def test_a_wheel_of_a_private_index_is_mined_with_and_its_credentials_are_in_no_file(
    index: Server, tmp_path: Path
) -> None:
    history = HistoryBuilder(tmp_path / "repository")
    declared = "[project]\nname = 'sums'\nversion = '1'\ndependencies = ['acme-core', 'six']\n"
    wrong = SOURCE.replace("ITEMS", "items[0] + sum(items[1:])")
    history.commit("begin", {"sums.py": wrong, "tests/test_sums.py": "import sums\n", "pyproject.toml": declared})
    fixed = SOURCE.replace("ITEMS", "sum(items, ZERO)")
    history.commit(f"Fix the total of nothing (#2){BODY}", {"sums.py": fixed, "tests/test_sums.py": TEST})
    environment = {**os.environ, "CODEGATE_CACHE": str(tmp_path / "cache"), "PIP_EXTRA_INDEX_URL": address(index)}

    words = (
        "mine",
        history.folder,
        "--out",
        tmp_path / "suite",
        "--sandbox",
        "bwrap",
        "--python",
        PYTHON,
        "--rounds",
        1,
        "--json",
        "-v",
    )
    done = FORKER.run(*words, cwd=tmp_path, environment=environment)

    assert done.code == 0, done.stderr
    (problem,) = load_suite(tmp_path / "suite").problems
    assert "tests/test_sums.py::test_no_credentials_are_here" in problem.tests.expected
    lock = (tmp_path / "suite" / problem.environment.lock).read_text()
    assert f"acme-core==1.0 \\\n    --hash=sha256:{hashlib.sha256(WHEEL).hexdigest()}" in lock
    assert_unknown((done.stdout + done.stderr).encode(), "output")
    for file in [*(tmp_path / "suite").rglob("*"), *(tmp_path / "cache").rglob("*")]:
        if file.is_file():
            assert_unknown(file.read_bytes(), file)


def test_an_index_that_refuses_credentials_is_named_without_them(
    index: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CODEGATE_CACHE", str(tmp_path))
    monkeypatch.setenv("UV_INDEX", f"acme={index.url}/simple/")
    monkeypatch.setenv("UV_INDEX_ACME_USERNAME", USER)
    monkeypatch.setenv("UV_INDEX_ACME_PASSWORD", PASSWORD)
    question = Question(("acme-core",), (), "", PYTHON, date(2026, 1, 1))
    lock = resolve(question).lock
    assert lock is not None
    monkeypatch.delenv("UV_INDEX_ACME_USERNAME")
    errors: list[CodegateError] = []
    for wrong in (address(index, "sesame77x"), address(index).replace(":", ":x", 1), "http://ada-of-acme:sesame77@[/"):
        monkeypatch.setenv("UV_INDEX", wrong)
        with pytest.raises(SandboxError) as failed:
            build_environment(EnvironmentRecipe(PYTHON, lock))
        errors.append(failed.value)
    monkeypatch.setenv("UV_INDEX", address(index, "sesame77x"))
    with pytest.raises(InfrastructureError, match=f"{index.url}/simple/"):
        resolve(question)
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
    toolchain = EnvironmentRecipe(PYTHON, TOOLCHAINS[22])
    manifest = json.dumps({"name": "sums", "dependencies": {"@acme/core": "^1.0.0"}})

    locked = resolve_npm(toolchain, manifest, None)
    assert locked is not None
    files = (("package-lock.json", locked), ("package.json", manifest))
    built = build_environment(EnvironmentRecipe(PYTHON, toolchain.lock, files))

    assert (built.packages / "node_modules" / "@acme" / "core" / "index.js").is_file()
    assert_unknown(locked.encode(), "lock")
    for file in built.packages.rglob("*"):
        if file.is_file():
            assert_unknown(file.read_bytes(), file)
    monkeypatch.setenv("ACME_TOKEN", ENCODED[:-4])
    with pytest.raises(InfrastructureError, match="npm registry") as failed:
        resolve_npm(toolchain, manifest, None)
    assert_unknown(f"{failed.value} {failed.value.remedy}".encode(), "error")
