"""The official artifact client and ours understand each other: what one uploads, the other downloads, byte for byte."""

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
from codegate.github.archive import pack, read_members
from codegate.github.artifacts import artifact_by_id, artifacts_of_run, download_artifact
from codegate.github.upload import ArtifactExists, upload_artifact
from tests.conftest import unavailable
from tests.github.fake import FakeGitHub, Token, fake_github
from tests.github.fake.artifacts import Artifacts, Run

TOKEN = "ghs_faketoken0123456789abcdefghijklmnop"
MOST = 64 << 20
FILES = {"baseline.json": b'{"a": 1}\n' * 1000, "logs/noise.bin": os.urandom(9 << 20), "empty.txt": b""}
RUN = Run(7)

_PACKAGE = Path(__file__).parent / "actions"
_PROGRAM = """\
import artifact from "@actions/artifact";

const [what, ...rest] = process.argv.slice(2);
let answer;
if (what === "upload") answer = await artifact.uploadArtifact(rest[0], rest.slice(2), rest[1], { retentionDays: 3 });
if (what === "list") answer = await artifact.listArtifacts();
if (what === "download") {
  answer = await artifact.downloadArtifact(Number(rest[0]), { path: rest[1], expectedHash: rest[2] });
}
if (what === "download over REST") {
  const [repositoryOwner, repositoryName] = ["acme", "demo"];
  const [token, workflowRunId] = [process.env.REST_TOKEN, Number(rest[2])];
  const findBy = { token, workflowRunId, repositoryOwner, repositoryName };
  const { artifact: found } = await artifact.getArtifact(rest[0], { findBy });
  const options = { path: rest[1], findBy, expectedHash: found.digest };
  answer = { found, ...(await artifact.downloadArtifact(found.id, options)) };
}
console.log(`\\nANSWER ${JSON.stringify(answer)}`);
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


def test_what_we_upload_the_official_client_downloads(
    program: Path, server: FakeGitHub, folder: Path, tmp_path: Path
) -> None:
    environment = server.store(Artifacts).runtime(server, RUN)
    pack(folder, tmp_path / "a.zip")
    done = upload_artifact(environment, "report", tmp_path / "a.zip", retention_days=3)
    (listed,) = official(program, server, environment, "list")["artifacts"]
    assert (listed["id"], listed["name"], listed["size"]) == (done.id, "report", done.size)
    assert listed["digest"] == f"sha256:{done.sha256}"
    got = tmp_path / "got"
    answer = official(program, server, environment, "download", str(done.id), str(got), listed["digest"])
    assert answer == {"downloadPath": str(got), "digestMismatch": False}
    assert {name: (got / name).read_bytes() for name in FILES} == FILES
    over = official(program, server, environment, "download over REST", "report", str(tmp_path / "rest"), str(RUN.id))
    assert (over["found"]["id"], over["digestMismatch"]) == (done.id, False)
    assert {name: (tmp_path / "rest" / name).read_bytes() for name in FILES} == FILES


def test_what_the_official_client_uploads_we_download(program: Path, server: FakeGitHub, folder: Path) -> None:
    environment = server.store(Artifacts).runtime(server, RUN)
    files = [str(folder / name) for name in FILES]
    answer = official(program, server, environment, "upload", "report", str(folder), *files)
    github = GitHub(server.api_url, server.repository, TOKEN)
    listed = artifact_by_id(github, answer["id"])
    assert artifacts_of_run(github, RUN.id, "report") == (listed,)
    data = download_artifact(github, listed, MOST)
    assert (len(data), sha256(data)) == (answer["size"], answer["digest"])
    assert read_members(data, dict.fromkeys(FILES, MOST), "x") == FILES
    with pytest.raises(ArtifactExists):
        upload_artifact(environment, "report", Path(__file__), pause_seconds=0.01)
