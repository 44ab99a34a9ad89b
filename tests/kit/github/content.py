"""Commits of the fake as far as the pinned baseline needs them: files, ancestry, and releases."""

from dataclasses import dataclass, field
from urllib.parse import unquote

from tests.kit.github.artifacts import Artifacts
from tests.kit.github.rest import HOME
from tests.kit.github.server import FakeGitHub, Reply, Request, route

_REPO = r"/repos/acme/demo"
_RAW = "application/vnd.github.raw+json"
_NOT_FOUND = Reply({"message": "Not Found"}, 404)


@dataclass
class Content:
    """What one server has: ``github.store(Content)``.

    Attributes:
        commits: path to bytes, by commit.
        default_branch: of the repository.
        lost: commits that are on no branch any more.
        releases: name to bytes of the files of a release, by tag.
    """

    commits: dict[str, dict[str, bytes]] = field(default_factory=dict)
    default_branch: str = "main"
    lost: set[str] = field(default_factory=set)
    releases: dict[str, dict[str, bytes]] = field(default_factory=dict)

    def assets(self) -> list[tuple[str, str, bytes]]:
        return [(tag, name, data) for tag, files in self.releases.items() for name, data in files.items()]


@route("GET", _REPO)
def _repository(github: FakeGitHub, request: Request) -> object:
    return {"id": HOME, "full_name": "acme/demo", "default_branch": github.store(Content).default_branch}


@route("GET", rf"{_REPO}/contents/(.+)", needs="contents: read")
def _content(github: FakeGitHub, request: Request) -> object:
    store, path = github.store(Content), unquote(request.groups[0])
    files = store.commits.get(request.query.get("ref", ""), {})
    if any(name.startswith(f"{path}/") for name in files):
        return [{"type": "file", "path": name} for name in files if name.startswith(f"{path}/")]
    if path not in files:
        return _NOT_FOUND
    if request.headers.get("accept") != _RAW:
        return Reply({"message": "only the raw media type is here"}, 406)
    return Reply(files[path], headers={"Content-Type": _RAW})


@route("GET", rf"{_REPO}/compare/([0-9a-f]+)\.\.\.(.+)", needs="contents: read")
def _compare(github: FakeGitHub, request: Request) -> object:
    store = github.store(Content)
    commit, branch = request.groups
    if unquote(branch) != store.default_branch:
        return _NOT_FOUND
    return {"status": "diverged" if commit in store.lost else "ahead", "commits": []}


@route("GET", rf"{_REPO}/releases/tags/(.+)", needs="contents: read")
def _release(github: FakeGitHub, request: Request) -> object:
    store, tag = github.store(Content), unquote(request.groups[0])
    if tag not in store.releases:
        return _NOT_FOUND
    assets = [{"id": 1 + i, "name": name} for i, (of, name, _) in enumerate(store.assets()) if of == tag]
    return {"tag_name": tag, "assets": assets}


@route("GET", rf"{_REPO}/releases/assets/(\d+)", needs="contents: read")
def _asset(github: FakeGitHub, request: Request) -> object:
    assets = github.store(Content).assets()
    number = int(request.groups[0]) - 1
    if number >= len(assets):
        return _NOT_FOUND
    if request.headers.get("accept") != "application/octet-stream":
        return {"id": number + 1, "name": assets[number][1]}
    return Reply(b"", 302, {"Location": github.store(Artifacts).signed(github, assets[number][2])})
