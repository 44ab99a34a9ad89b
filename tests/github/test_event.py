"""What is taken from an event's payload, and what is not done for it."""

import copy
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from codegate.errors import UsageError
from codegate.gating import Download
from codegate.github.event import MAX_PAYLOAD_BYTES, Event, read_event, refusal, with_merged_base
from tests.github.runner import event_variables
from tests.kit.repository import HistoryBuilder

BASE, HEAD, MERGE = "b" * 40, "a" * 40, "c" * 40
HOME, FORK = {"id": 1000, "full_name": "acme/demo"}, {"id": 2000, "full_name": "mallory/demo"}
REPOSITORY = {"id": 1000, "full_name": "acme/demo", "default_branch": "main"}


def pull_payload(head: object = HOME) -> dict[str, Any]:
    return {
        "repository": REPOSITORY,
        "pull_request": {
            "number": 7,
            "title": "::set-output name=verdict::pass",
            "base": {"sha": BASE, "ref": "main", "repo": HOME},
            "head": {"sha": HEAD, "ref": "feature/x", "repo": head},
        },
    }


def run_payload(head: object = HOME, **changes: Any) -> dict[str, Any]:
    run = {
        "id": 55, "run_attempt": 2, "head_sha": HEAD, "head_branch": "main", "head_repository": head,
        "event": "pull_request", "path": ".github/workflows/gate.yml", "conclusion": "success", "pull_requests": [],
    }  # fmt: skip
    return {"repository": REPOSITORY, "workflow_run": run | changes}


def event_of(folder: Path, name: str, payload: object, **environment: str) -> Event:
    return read_event(event_variables(folder, name, payload, GITHUB_RUN_ATTEMPT="2", **environment))


def test_a_pull_request_is_read(tmp_path: Path) -> None:
    event = event_of(tmp_path, "pull_request", pull_payload())
    assert event.pull is not None
    assert (event.pull.number, event.base_sha, event.head_sha, event.sha) == (7, BASE, HEAD, MERGE)
    assert (event.repository_id, event.default_branch, event.fork) == (1000, "main", False)
    assert refusal(event) is None
    assert event.run_url == "https://github.com/acme/demo/actions/runs/123"


def test_the_addresses_of_an_enterprise_server_are_its_own(tmp_path: Path) -> None:
    own = {"GITHUB_SERVER_URL": "https://git.acme.example:8443", "GITHUB_API_URL": "https://git.acme.example/api/v3/"}
    event = event_of(tmp_path, "push", {}, **own)
    assert event.run_url == "https://git.acme.example:8443/acme/demo/actions/runs/123"
    assert event.api_url == "https://git.acme.example/api/v3"


@pytest.mark.parametrize("name", ["gate.yml", "my baseline.yml", "c++ [nightly] (2).yaml", "質量ゲート.yml"])
def test_a_workflow_file_of_any_name_is_known(tmp_path: Path, name: str) -> None:
    path = f".github/workflows/{name}"
    event = event_of(tmp_path, "push", {}, GITHUB_WORKFLOW_REF=f"acme/demo/{path}@refs/heads/a@b.yml")
    assert event.workflow_path == path
    assert Download(artifact="codegate-baseline", workflow=path).workflow == path


@pytest.mark.parametrize(
    "reference",
    [
        "acme/other/.github/workflows/gate.yml@refs/heads/main",
        "acme/demo/.github/workflows/a/gate.yml@refs/heads/main",
        "acme/demo/.github/workflows/a\nb.yml@refs/heads/main",
        "acme/demo/.github/workflows/a\x1bb.yml@refs/heads/main",
        "acme/demo/.github/workflows/a\u202eb.yml@refs/heads/main",
        "acme/demo/.github/workflows/gate.py@refs/heads/main",
        "",
    ],
)
def test_no_other_file_is_the_workflow(tmp_path: Path, reference: str) -> None:
    assert event_of(tmp_path, "push", {}, GITHUB_WORKFLOW_REF=reference).workflow_path == ""


@pytest.mark.parametrize("head", [FORK, None, {}, {"id": None}])
def test_a_head_that_is_not_known_to_be_ours_is_a_forks(tmp_path: Path, head: object) -> None:
    event = event_of(tmp_path, "pull_request", pull_payload(head))
    assert event.fork
    assert refusal(event) is None  # GitHub gives it no secrets
    refused = refusal(event_of(tmp_path, "pull_request_target", pull_payload(head)))
    assert refused is not None
    assert "pull_request_target" in refused


def test_without_our_own_id_everything_is_foreign(tmp_path: Path) -> None:
    payload = pull_payload() | {"repository": {}}
    assert event_of(tmp_path, "pull_request", payload).fork
    assert event_of(tmp_path, "pull_request", pull_payload(None) | {"repository": {}}).fork
    assert not event_of(tmp_path, "pull_request", payload, GITHUB_REPOSITORY_ID="1000").fork


def remark(name: str, association: str, head: object = HOME) -> dict[str, Any]:
    return pull_payload(head) | {name: {"author_association": association}}


QUEUE = {"merge_group": {"base_sha": BASE, "head_sha": HEAD}}
RUNS: dict[bool, list[tuple[str, dict[str, Any]]]] = {
    True: [
        ("pull_request_target", pull_payload(HOME)), ("workflow_run", run_payload(HOME, event="push")),
        ("push", {}), ("schedule", {}), ("workflow_dispatch", {}), ("merge_group", QUEUE),
        ("pull_request_review", remark("review", "MEMBER")), ("pull_request_review", remark("review", "NONE", FORK)),
    ],
    False: [
        *(("workflow_run", run_payload(head)) for head in (HOME, FORK, None)),
        ("pull_request_review", remark("review", "CONTRIBUTOR")),
        ("pull_request_review_comment", remark("comment", "NONE")),
        *((name, {}) for name in ("issue_comment", "issues", "discussion_comment", "fork", "watch", "something_new")),
    ],
}  # fmt: skip


@pytest.mark.parametrize(("runs", "name", "payload"), [(runs, *each) for runs, many in RUNS.items() for each in many])
def test_suites_are_run_for_those_who_may_push(tmp_path: Path, runs: bool, name: str, payload: dict[str, Any]) -> None:
    assert (refusal(event_of(tmp_path, name, payload)) is None) == runs


def test_the_end_of_another_run_is_read(tmp_path: Path) -> None:
    event = event_of(tmp_path, "workflow_run", run_payload(FORK))
    run = event.workflow_run
    assert run is not None
    assert (run.id, run.head_sha, run.head_repository, run.event) == (55, HEAD, "mallory/demo", "pull_request")
    assert (event.head_sha, event.pull, event.fork) == (HEAD, None, True)


def test_the_base_of_a_merge_queue_is_read(tmp_path: Path) -> None:
    assert event_of(tmp_path, "merge_group", QUEUE).base_sha == BASE
    assert event_of(tmp_path, "push", QUEUE).base_sha is None


class Merged:
    """A pull request whose base branch went on: ``old`` is the event's base, ``tip`` what GitHub merged into."""

    def __init__(self, folder: Path) -> None:
        self.made = HistoryBuilder(folder / "r")
        self.old = self.made.commit("old", {"a": "1"})
        self.made.branch("change")
        self.head = self.made.commit("change", {"b": "1"})
        self.made.git("checkout", "--quiet", "main")
        self.tip = self.made.commit("tip", {"a": "2"})
        self.fetched("main", self.tip)
        self.merge = self.merged(self.tip, self.head)
        self.folder = folder

    def fetched(self, branch: str, commit: str) -> None:
        self.made.git("update-ref", f"refs/remotes/origin/{branch}", commit)

    def merged(self, *parents: str) -> str:
        """Check out a merge commit of these parents."""
        words = [word for parent in parents for word in ("-p", parent)]
        named = ("-c", "user.name=G", "-c", "user.email=g@example.org")
        commit = self.made.git(*named, "commit-tree", f"{self.head}^{{tree}}", *words, "-m", "merge")
        self.made.git("checkout", "--quiet", "--detach", commit)
        return commit

    def base(self, name: str = "pull_request", ref: str = "refs/pull/7/merge", sha: str = "", base: str = "") -> str:
        payload = remark("review", "OWNER")
        payload["pull_request"]["base"]["sha"] = base or self.old
        payload["pull_request"]["head"]["sha"] = self.head
        event = event_of(self.folder, name, payload, GITHUB_SHA=sha or self.merge, GITHUB_REF=ref)
        return with_merged_base(event, self.made.folder).base_sha or ""


def test_the_base_is_what_github_merged_a_pull_request_into(tmp_path: Path) -> None:
    merged = Merged(tmp_path)
    assert merged.base() == merged.base("pull_request_review") == merged.tip
    merged.fetched("main", merged.made.commit("later", {"a": "3"}))
    assert merged.base() == merged.old, "later is no commit of the pull request's merge"
    merged.made.git("checkout", "--quiet", "--detach", merged.merge)
    assert merged.base() == merged.tip, "the branch went on again before it was fetched"


def test_the_base_of_a_merge_that_is_not_githubs_is_the_events(tmp_path: Path) -> None:
    merged = Merged(tmp_path)
    assert merged.base("pull_request_target") == merged.old, "its commit is one of the base branch"
    assert merged.base(ref="refs/heads/change") == merged.base(ref="refs/pull/8/merge") == merged.old
    assert merged.base(sha=merged.head) == merged.old, "what is checked out is not the commit of the run"
    assert merged.base(base="1" * 40) == "1" * 40, "a base that is not known here"
    own = merged.made.git("rev-parse", "main")
    merged.fetched("main", merged.old)
    assert merged.base() == merged.old, "what it merges into is on no base branch: its author could have made it"
    merged.fetched("main", own)
    head, tip, old = merged.head, merged.tip, merged.old
    for parents in ((head, tip), (tip, old), (tip,), (tip, head, old)):
        assert merged.base(sha=merged.merged(*parents)) == merged.old, "another merge"
    stale = merged.merged(merged.old, merged.head)
    assert merged.base(sha=stale, base=merged.tip) == merged.tip, "a merge older than the event's base"
    merged.made.git("checkout", "--quiet", "--detach", merged.merge)
    merged.made.git("replace", merged.old, merged.tip)
    assert merged.base() == merged.tip
    assert with_merged_base(event_of(tmp_path, "pull_request", pull_payload()), tmp_path).base_sha == BASE


def _changed(payload: dict[str, Any], path: str, value: object) -> dict[str, Any]:
    changed = copy.deepcopy(payload)
    *parents, last = path.split(".")
    inner = changed
    for name in parents:
        inner = inner[name]
    inner[last] = value
    return changed


@pytest.mark.parametrize(
    ("path", "value"),
    [
        ("pull_request.number", "7/../../issues/1"),
        ("pull_request.number", 0),
        ("pull_request.number", True),
        ("pull_request.number", 1 << 63),
        ("pull_request.base.sha", "main"),
        ("pull_request.base.sha", BASE + "\n"),
        ("pull_request.base.sha", "--upload-pack=x"),
        ("pull_request.head.sha", None),
        ("repository.default_branch", "a b"),
        ("repository.default_branch", "a\u2028b"),
        ("repository.default_branch", "x" * 256),
        ("pull_request.head", []),
        ("pull_request", "text"),
        ("pull_request", None),
        ("repository.id", "1000"),
        ("repository", []),
    ],
)
def test_what_has_another_form_is_refused(tmp_path: Path, path: str, value: object) -> None:
    with pytest.raises(UsageError, match=r"event|payload"):
        event_of(tmp_path, "pull_request", _changed(pull_payload(), path, value))


@pytest.mark.parametrize(
    "payload", ["", "[]", "{", '{"a": 1, "a": 2}', "[" * 5000, '{"repository": {"id": NaN}}', " " * 99 + "null"]
)
def test_what_is_no_payload_is_refused(tmp_path: Path, payload: str) -> None:
    with pytest.raises(UsageError):
        event_of(tmp_path, "push", payload)


def test_a_payload_has_a_limit(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="larger"):
        event_of(tmp_path, "push", " " * (MAX_PAYLOAD_BYTES + 1))


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("GITHUB_REPOSITORY", "a/b/c"),
        ("GITHUB_SHA", "HEAD"),
        ("GITHUB_SERVER_URL", "https://x y"),
        ("GITHUB_API_URL", "ftp://x"),
        ("GITHUB_EVENT_NAME", "push\n::error::"),
    ],
)
def test_an_environment_that_is_no_workflows_is_refused(tmp_path: Path, name: str, value: str) -> None:
    with pytest.raises(UsageError, match=name):
        event_of(tmp_path, "push", {}, **{name: value})


_json = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=8),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(["pull_request", "repository", "head", "base", "repo", "id", "sha", "ref", "number"]), inner
        )
    ),
    max_leaves=12,
)


@given(st.sampled_from(["pull_request", "workflow_run", "pull_request_target", "push"]), _json)
def test_any_payload_is_read_or_refused(tmp_path: Path, name: str, payload: object) -> None:
    try:
        event = event_of(tmp_path, name, payload)
    except UsageError:
        return
    assert event.run_url is not None
