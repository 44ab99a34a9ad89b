"""Commits of the fake as far as the action needs them: files, branches, ancestry, and releases."""

import base64
import hashlib
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
        branches: commit by branch.
        lost: commits that are on no branch any more.
        releases: name to bytes of the files of a release, by tag.
        messages, parents: of commits that were made here.
        trees: path to bytes, of trees that were made here.
    """

    commits: dict[str, dict[str, bytes]] = field(default_factory=dict)
    default_branch: str = "main"
    branches: dict[str, str] = field(default_factory=dict)
    lost: set[str] = field(default_factory=set)
    releases: dict[str, dict[str, bytes]] = field(default_factory=dict)
    messages: dict[str, str] = field(default_factory=dict)
    parents: dict[str, str] = field(default_factory=dict)
    trees: dict[str, dict[str, bytes]] = field(default_factory=dict)

    def assets(self) -> list[tuple[str, str, bytes]]:
        return [(tag, name, data) for tag, files in self.releases.items() for name, data in files.items()]


@route("GET", _REPO)
def _repository(github: FakeGitHub, request: Request) -> object:
    return {"id": HOME, "full_name": "acme/demo", "default_branch": github.store(Content).default_branch}


@route("GET", rf"{_REPO}/contents/(.+)", needs="contents: read")
def _content(github: FakeGitHub, request: Request) -> object:
    store, path = github.store(Content), unquote(request.groups[0])
    ref = request.query.get("ref", "")
    files = store.commits.get(store.branches.get(ref, ref), {})
    if any(name.startswith(f"{path}/") for name in files):
        return [{"type": "file", "path": name} for name in files if name.startswith(f"{path}/")]
    if path not in files:
        return _NOT_FOUND
    if request.headers.get("accept") != _RAW:
        content = base64.encodebytes(files[path]).decode()
        return {"type": "file", "encoding": "base64", "content": content, "sha": _blob(files[path])}
    return Reply(files[path], headers={"Content-Type": _RAW})


def _blob(data: bytes) -> str:
    return hashlib.sha1(data).hexdigest()


@route("GET", rf"{_REPO}/git/commits/([0-9a-f]+)", needs="contents: read")
def _commit(github: FakeGitHub, request: Request) -> object:
    store, sha = github.store(Content), request.groups[0]
    return {"sha": sha, "message": store.messages.get(sha, ""), "tree": {"sha": _tree(store.commits[sha])}}


def _tree(files: dict[str, bytes]) -> str:
    return hashlib.sha1(repr(sorted(files.items())).encode()).hexdigest()


@route("POST", rf"{_REPO}/git/trees", needs="contents: write")
def _make_tree(github: FakeGitHub, request: Request) -> object:
    store = github.store(Content)
    files = next(one for one in store.commits.values() if _tree(one) == request.body["base_tree"])
    made = files | {one["path"]: one["content"].encode() for one in request.body["tree"]}
    store.trees[_tree(made)] = made
    return Reply({"sha": _tree(made)}, 201)


@route("POST", rf"{_REPO}/git/commits", needs="contents: write")
def _make_commit(github: FakeGitHub, request: Request) -> object:
    store, body = github.store(Content), request.body
    sha = f"{len(store.commits):040x}"
    store.commits[sha], store.messages[sha] = store.trees[body["tree"]], body["message"]
    (store.parents[sha],) = body["parents"]
    return Reply({"sha": sha}, 201)


@route("PATCH", rf"{_REPO}/git/refs/heads/(.+)", needs="contents: write")
def _move_branch(github: FakeGitHub, request: Request) -> object:
    assert request.body["force"], "the base may have moved"
    github.store(Content).branches[unquote(request.groups[0])] = request.body["sha"]
    return {"object": {"sha": request.body["sha"]}}


@route("GET", rf"{_REPO}/git/ref/heads/(.+)", needs="contents: read")
def _branch(github: FakeGitHub, request: Request) -> object:
    commit = github.store(Content).branches.get(unquote(request.groups[0]))
    return _NOT_FOUND if commit is None else {"object": {"sha": commit}}


@route("POST", rf"{_REPO}/git/refs", needs="contents: write")
def _make_branch(github: FakeGitHub, request: Request) -> object:
    store, name = github.store(Content), request.body["ref"].removeprefix("refs/heads/")
    if name in store.branches or request.body["sha"] not in store.commits:
        return Reply({"message": "Reference already exists"}, 422)
    store.branches[name] = request.body["sha"]
    return Reply({"ref": request.body["ref"]}, 201)


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
