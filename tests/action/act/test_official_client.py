"""What the official artifact client uploads, codegate downloads, byte for byte."""

import json
import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from codegate.durable import sha256
from codegate.forge import GitHub
from codegate.github.artifacts import download_artifact, list_artifacts, read_members
from tests.conftest import unavailable
from tests.kit.github import FakeGitHub, Token, fake_github
from tests.kit.github.artifacts import Artifacts, Run

TOKEN = "ghs_faketoken0123456789abcdefghijklmnop"
MOST = 64 << 20
FILES = {"baseline.json": b'{"a": 1}\n' * 1000, "logs/noise.bin": os.urandom(9 << 20), "empty.txt": b""}
RUN = Run(7)

_PACKAGE = Path(__file__).parent / "actions"
_PROGRAM = """\
import artifact from "@actions/artifact";

const [name, root, ...files] = process.argv.slice(2);
console.log(`\\nANSWER ${JSON.stringify(await artifact.uploadArtifact(name, files, root, { retentionDays: 3 }))}`);
"""


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A program around the official client, in the version that the lock beside this file pins."""
    for needed in ("node", "npm"):
        if shutil.which(needed) is None:
            unavailable("NODE", f"there is no {needed}, which the official artifact client runs on")
    folder = tmp_path_factory.mktemp("client")
    for file in ("package.json", "package-lock.json"):
        shutil.copyfile(_PACKAGE / file, folder / file)
    words = ["npm", "ci", "--ignore-scripts", "--no-audit", "--no-fund"]
    done = subprocess.run(words, cwd=folder, capture_output=True, text=True, check=False, timeout=280)
    assert done.returncode == 0, done.stderr[-2000:]
    (folder / "program.mjs").write_text(_PROGRAM)
    return folder / "program.mjs"


@pytest.fixture
def server() -> Iterator[FakeGitHub]:
    with fake_github(tokens={TOKEN: Token(frozenset({"actions: read"}))}) as github:
        yield github


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name, data in FILES.items():
        (tmp_path / "report" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "report" / name).write_bytes(data)
    return tmp_path / "report"


def official(program: Path, server: FakeGitHub, environment: dict[str, str], *words: str) -> Any:
    """Run the official client and return its answer."""
    variables = {"PATH": os.environ["PATH"], "GITHUB_API_URL": server.api_url, "REST_TOKEN": TOKEN, **environment}
    done = subprocess.run(
        ["node", str(program), *words], env=variables, capture_output=True, text=True, check=False, timeout=120
    )
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
    (line,) = [line for line in done.stdout.splitlines() if line.startswith("ANSWER ")]
    return json.loads(line.removeprefix("ANSWER "))


def test_what_the_official_client_uploads_we_download(program: Path, server: FakeGitHub, folder: Path) -> None:
    environment = server.store(Artifacts).runtime(server, RUN)
    files = [str(folder / name) for name in FILES]
    answer = official(program, server, environment, "report", str(folder), *files)
    github = GitHub(server.api_url, server.repository, TOKEN)
    (listed,) = list_artifacts(github, "report", RUN.id)
    assert listed.id == answer["id"]
    data = download_artifact(github, listed, MOST)
    assert (len(data), sha256(data)) == (answer["size"], answer["digest"])
    assert dict(read_members(data, FILES.__contains__, MOST, "x")) == FILES
