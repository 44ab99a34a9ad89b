"""Whatever is put in the pinned baseline's place, it is used as it was pinned, or there is no baseline."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from codegate.errors import ExitCode, UsageError
from codegate.forge import GitHub, GitHubError
from codegate.gating import Baseline, Download, Origin, pin
from codegate.gating.baseline import encode_file, write_baseline, write_lock
from codegate.github.event import Event, read_event
from codegate.github.pinned import fetch_pinned
from codegate.operations.pinned import NoBaseline, PinnedBaseline
from tests.gating.sampling import NOON, part, uniform
from tests.github.runner import event_variables
from tests.kit.github import FakeGitHub, Fault, Reply, Token, fake_github
from tests.kit.github.artifacts import REPOSITORY_ID, Artifacts, Run, zipped
from tests.kit.github.content import Content
from tests.kit.repository import commit_all

SECRET = "ghs_0123456789abcdefSECRET"
READ = Token(frozenset({"contents: read", "actions: read"}))
BASE, FORK = "b" * 40, 666
NAME = "codegate-baseline"
TRUSTED = Run(11)


def made(problems: int = 20, **changes: Any) -> Baseline:
    baseline = pin([part(uniform(problems, problems // 2, 2))], origin=Origin("a", "c" * 40, NOON), min_samples=1)
    return baseline.model_copy(update=changes).sealed()


PINNED, OTHER = made(), made(22)


@dataclass
class Scene:
    """A repository whose base commit holds a lock, checked out as a pull request leaves it."""

    server: FakeGitHub
    workspace: Path
    folder: Path
    github: GitHub | None
    event: Event

    @property
    def artifacts(self) -> Artifacts:
        return self.server.store(Artifacts)

    @property
    def content(self) -> Content:
        return self.server.store(Content)

    def lock(self, transport: Download | None = None, **changes: Any) -> None:
        """Write the lock of ``PINNED`` to the base commit and to the checked-out tree."""
        aside = self.folder.parent / "aside"
        write_baseline(aside / "baseline.json", PINNED)
        lock = write_lock(aside / "codegate.lock", aside / "baseline.json", transport)
        data = encode_file(lock.model_copy(update=changes))
        self.content.commits[BASE] = {"codegate.lock": data}
        (self.workspace / "codegate.lock").write_bytes(data)

    def put(self, data: bytes, run: Run = TRUSTED, **changes: Any) -> int:
        return self.artifacts.put(NAME, data, run, **changes).id

    def fetch(self, name: str = "codegate.lock") -> PinnedBaseline:
        found = fetch_pinned(self.github, self.event, name, self.workspace)
        assert found.baseline == PINNED
        assert encode_file(found.baseline) == found.data
        return found

    def nothing(self) -> NoBaseline:
        with pytest.raises(NoBaseline, match="no baseline") as caught:
            self.fetch()
        assert "\n" not in str(caught.value)
        assert caught.value.exit_code not in {ExitCode.PASS, ExitCode.INCONCLUSIVE}
        return caught.value


def event_of(server: FakeGitHub, folder: Path, base: str | None = BASE) -> Event:
    home = {"id": REPOSITORY_ID, "default_branch": "main"}
    payload: dict[str, Any] = {"repository": home}
    if base:
        base_of, head_of = {"sha": base, "ref": "main"}, {"sha": "e" * 40, "ref": "change", "repo": home}
        payload["pull_request"] = {"number": 7, "base": base_of, "head": head_of}
    name = "pull_request" if base else "push"
    return read_event(event_variables(folder, name, payload, GITHUB_API_URL=server.api_url))


@pytest.fixture
def scene(tmp_path: Path) -> Iterator[Scene]:
    (tmp_path / "workspace").mkdir()
    with fake_github(tokens={SECRET: READ}) as server:
        github = GitHub(server.api_url, server.repository, SECRET, pause_seconds=0.01)
        event = event_of(server, tmp_path)
        yield Scene(server, tmp_path / "workspace", tmp_path / "folder", github, event)


def holding(baseline: Baseline, name: str = "baseline.json") -> bytes:
    return zipped({name: encode_file(baseline), "report.html": b"<p>"})


def artifact(number: int) -> str:
    return f"artifact {NAME!r} ({number})"


GOOD = holding(PINNED)
CHANGED = "This change edits codegate.lock; until it is merged, the one of the base commit counts."
BY_NAME = Download(artifact=NAME)


# Where the bytes may come from.


@pytest.mark.requirement("M5")
def test_the_newest_artifact_of_a_trusted_run_is_used(scene: Scene) -> None:
    old = scene.put(GOOD)
    new = scene.put(GOOD, replace(TRUSTED, id=12, event="schedule", path=f"{TRUSTED.path}@refs/heads/main"))
    scene.lock(BY_NAME)
    assert scene.fetch() == replace(scene.fetch(), source=artifact(new), notes=())
    scene.artifacts.stored[new].expires_at = datetime.now(UTC) - timedelta(days=1)
    assert scene.fetch().notes == (
        f"Not used: {artifact(new)}: {artifact(new)} has expired.",
        f"The baseline came from {artifact(old)}.",
    )


def test_an_artifact_that_is_gone_is_named_with_its_workflow(scene: Scene) -> None:
    scene.lock(Download(artifact=NAME, workflow=TRUSTED.path))
    error = scene.nothing()
    assert error.refused[0] == (
        f"Not used: artifact {NAME!r} of {TRUSTED.path}: there is none: artifacts end after 90 days, or the "
        "repository's retention."
    )
    assert f"run {TRUSTED.path} on the default branch with the pinned model" in error.remedy
    scene.lock(release := Download(release="v1"))
    assert release.artifact is None
    assert "run " not in scene.nothing().remedy


def test_then_a_release_follows(scene: Scene) -> None:
    scene.put(holding(OTHER))
    scene.content.releases = {"other": {"x": b"x"}, "v1/a": {"a.txt": b"x", "baseline.json": encode_file(PINNED)}}
    scene.lock(Download(artifact=NAME, release="v1/a"))
    assert scene.fetch().source == "file 'baseline.json' of release 'v1/a'"
    scene.lock(Download(release="other"))
    assert "it has no such file" in str(scene.nothing())
    scene.lock(Download(release="other", asset="x"))
    assert "SHA-256" in str(scene.nothing())
    scene.lock(Download(release="none"))
    assert "HTTP 404" in str(scene.nothing())


def test_then_the_checked_out_file_follows_and_the_base_commits(scene: Scene) -> None:
    scene.lock()
    (scene.workspace / "baseline.json").write_bytes(encode_file(PINNED))
    found = scene.fetch()
    assert (found.source, found.notes) == ("file 'baseline.json' of the checked-out tree", ())
    scene.content.commits[BASE]["baseline.json"] = encode_file(PINNED)
    (scene.workspace / "baseline.json").write_bytes(encode_file(OTHER))  # the pull request's
    assert scene.fetch().source == f"file 'baseline.json' of the base commit {BASE[:12]}"


def test_an_artifact_may_hold_the_file_in_its_folder(scene: Scene) -> None:
    number = scene.put(holding(PINNED, "gate/baseline.json"))
    scene.lock(BY_NAME, baseline="gate/baseline.json")
    assert scene.fetch().source == artifact(number)


# What is not used, although its bytes are the pinned ones.

DISTRUSTED: dict[str, tuple[Run, str]] = {
    "of a fork's branch main": (replace(TRUSTED, head_repository_id=FORK), "another repository's commit"),
    "of a fork that is gone": (replace(TRUSTED, head_repository_id=None), "another repository's commit"),
    "of another branch": (replace(TRUSTED, head_branch="feature"), "not on the default branch"),
    "of no branch": (replace(TRUSTED, head_branch=None), "not on the default branch"),
    "of a pull request": (replace(TRUSTED, event="pull_request"), "started by pull_request"),
    "of pull_request_target": (replace(TRUSTED, event="pull_request_target"), "started by pull_request_target"),
    "of workflow_run": (replace(TRUSTED, event="workflow_run"), "started by workflow_run"),
    "of another workflow": (replace(TRUSTED, path=".github/workflows/ci.yml"), "workflow '.github/workflows/ci.yml'"),
    "of a workflow named alike": (replace(TRUSTED, path=f"x/{TRUSTED.path}"), "of the workflow"),
    "of a failure": (replace(TRUSTED, conclusion="failure"), "ended with failure"),
    "of a run under way": (replace(TRUSTED, conclusion=None), "has not ended"),
}


@pytest.mark.parametrize("name", list(DISTRUSTED))
def test_the_right_bytes_of_a_run_that_is_not_trusted_are_not_used(scene: Scene, name: str) -> None:
    run, words = DISTRUSTED[name]
    number = scene.put(GOOD, run)
    scene.lock(BY_NAME)
    error = scene.nothing()
    assert error.exit_code == ExitCode.USAGE
    assert error.refused[0].startswith(f"Not used: {artifact(number)}: ")
    assert words in error.refused[0]
    assert scene.server.asked("GET", r".*/zip") == []


@pytest.mark.parametrize(
    "changes",
    [
        {"head_repository_id": FORK}, {"head_branch": "x"}, {"event": "pull_request"}, {"head_repository_id": None},
        {"path": "x"}, {"conclusion": "failure"},
    ],
)  # fmt: skip
def test_what_the_run_itself_says_counts(scene: Scene, changes: dict[str, Any]) -> None:
    scene.put(GOOD)
    scene.lock(BY_NAME)
    document = replace(TRUSTED, **changes).document()
    scene.server.fail(Fault("GET", r".*/actions/runs/11", Reply(document)))
    assert "run 11 is not trusted" in scene.nothing().refused[0]


@pytest.mark.parametrize(
    "document", [None, [], {}, {**TRUSTED.document(), "id": 12}, {**TRUSTED.document(), "head_sha": "../x"}]
)
def test_a_run_that_is_none_is_no_reason_to_trust(scene: Scene, document: Any) -> None:
    scene.put(GOOD)
    scene.lock(BY_NAME)
    scene.server.fail(Fault("GET", r".*/actions/runs/11", Reply(document)))
    scene.nothing()


def test_a_commit_that_was_taken_off_the_branch_is_not_trusted(scene: Scene) -> None:
    scene.put(GOOD)
    scene.content.lost.add(TRUSTED.head_sha)
    scene.lock(BY_NAME)
    assert "not on the default branch any more" in scene.nothing().refused[0]


def test_the_default_branch_is_asked_for_where_the_event_does_not_say_it(scene: Scene) -> None:
    scene.event = replace(scene.event, default_branch="")
    scene.content.default_branch = "trunk"
    scene.put(GOOD)
    scene.lock(BY_NAME)
    assert "not on the default branch 'trunk'" in scene.nothing().refused[0]
    scene.put(GOOD, replace(TRUSTED, id=12, head_branch="trunk"))
    scene.fetch()


def test_a_flood_of_a_forks_newer_artifacts_hides_nothing(scene: Scene) -> None:
    mine = scene.put(GOOD)
    for number in range(150):
        forks = scene.put(holding(OTHER), Run(100 + number, event="pull_request", head_repository_id=FORK))
    scene.lock(BY_NAME)
    found = scene.fetch()  # on the second page
    assert found.source == artifact(mine)
    assert artifact(forks) in found.notes[0]
    assert len(found.notes) == 6
    assert len(scene.server.asked("GET", r".*/actions/runs/.*")) == 1


@pytest.mark.parametrize(("failed", "words"), [(30, "11 more artifacts of that"), (20, "1 more artifact of that")])
def test_only_so_many_runs_are_asked_about(scene: Scene, failed: int, words: str) -> None:
    scene.put(GOOD)
    for number in range(failed):
        scene.put(GOOD, replace(TRUSTED, id=100 + number, conclusion="failure"))
    scene.lock(BY_NAME)
    error = scene.nothing()
    assert len(scene.server.asked("GET", r".*/actions/runs/.*")) == 20
    assert words in error.refused[20]


# What is not used since its bytes are others.


POISON: dict[str, tuple[Callable[[], bytes], str]] = {
    "another baseline": (lambda: holding(OTHER), "SHA-256"),
    "of another suite": (lambda: holding(made(suite_digest="f" * 64)), "SHA-256"),
    "one byte more": (lambda: zipped({"baseline.json": encode_file(PINNED) + b"\n"}), "SHA-256"),
    "zip bomb": (lambda: zipped({"baseline.json": b" " * (24 << 20)}), "no usable archive"),
    "no archive": (lambda: encode_file(PINNED), "no usable archive"),
}


@pytest.mark.parametrize("name", list(POISON))
def test_other_bytes_are_no_baseline(scene: Scene, name: str) -> None:
    data, words = POISON[name]
    scene.put(data())
    scene.lock(BY_NAME)
    error = scene.nothing()
    assert words in error.refused[0]
    assert error.exit_code == ExitCode.USAGE


def test_a_download_that_breaks_off_is_a_fault_of_the_infrastructure(scene: Scene) -> None:
    scene.put(GOOD)
    scene.lock(BY_NAME)
    scene.server.fail(Fault("GET", r"/blob/read\.zip", cut=50, times=4))
    assert scene.nothing().exit_code == ExitCode.INFRASTRUCTURE


def test_the_storages_host_gets_no_token(scene: Scene) -> None:
    scene.artifacts.elsewhere = scene.server.origin.replace("127.0.0.1", "localhost")
    scene.put(GOOD)
    scene.lock(BY_NAME)
    scene.fetch()
    (asked,) = scene.server.asked("GET", r"/blob/read\.zip")
    assert asked.headers["host"].startswith("localhost:")
    assert "authorization" not in asked.headers


@pytest.mark.parametrize(
    "changes", [{"suite_digest": "f" * 64}, {"model": "model-y"}, {"digest": "f" * 64}], ids=lambda c: next(iter(c))
)
def test_a_lock_that_contradicts_what_it_pins_is_no_baseline(scene: Scene, changes: dict[str, Any]) -> None:
    scene.put(GOOD)
    scene.lock(BY_NAME, **changes)
    assert "disagree" in str(scene.nothing())


# Whose lock it is.


@pytest.mark.requirement("F3")
def test_the_pull_requests_own_lock_does_not_count(scene: Scene) -> None:
    scene.put(holding(OTHER))
    scene.put(GOOD, replace(TRUSTED, id=12))
    scene.lock(BY_NAME)
    write_baseline(scene.workspace / "baseline.json", OTHER)
    write_lock(scene.workspace / "codegate.lock", scene.workspace / "baseline.json")
    assert scene.fetch().notes[0].startswith(CHANGED)


def test_a_lock_that_the_pull_request_removes_counts(scene: Scene) -> None:
    scene.put(GOOD)
    scene.lock(BY_NAME)
    (scene.workspace / "codegate.lock").unlink()
    assert scene.fetch().notes == (CHANGED,)


def test_a_link_in_the_pull_requests_tree_leads_nowhere(scene: Scene) -> None:
    """The base commit has another lock, of an easier baseline, somewhere among its tests."""
    scene.put(GOOD)
    scene.lock(BY_NAME)
    write_baseline(scene.workspace / "tests" / "baseline.json", OTHER)
    write_lock(scene.workspace / "tests" / "codegate.lock", scene.workspace / "tests" / "baseline.json")
    easy = (scene.workspace / "tests" / "codegate.lock").read_bytes()
    scene.content.commits[BASE]["tests/codegate.lock"] = easy
    (scene.workspace / "codegate.lock").unlink()
    (scene.workspace / "codegate.lock").symlink_to("tests/codegate.lock")
    assert scene.fetch().notes == (CHANGED,)


@pytest.mark.parametrize("name", ["../codegate.lock", "/etc/passwd", "", "a/../b", ".git/config"])
def test_a_lock_is_in_the_repository(scene: Scene, name: str) -> None:
    with pytest.raises(UsageError, match="not a plain relative path"):
        scene.fetch(name)


def test_a_lock_that_only_the_pull_request_has_does_not_count(scene: Scene) -> None:
    scene.lock()
    (scene.workspace / "baseline.json").write_bytes(encode_file(PINNED))
    scene.content.commits[BASE] = {}
    assert f"there is no codegate.lock in the base commit {BASE[:12]}" in str(scene.nothing())


@pytest.mark.parametrize("data", [b"", b"{}", b"\xff", b"[" * 1000, b" " * 70_000])
def test_a_broken_lock_is_no_baseline(scene: Scene, data: bytes) -> None:
    scene.content.commits[BASE] = {"codegate.lock": data}
    scene.nothing()


@given(st.binary(max_size=300))
def test_garbage_is_no_lock(tmp_path_factory: pytest.TempPathFactory, data: bytes) -> None:
    folder = tmp_path_factory.getbasetemp() / "garbage"
    folder.mkdir(exist_ok=True)
    (folder / "codegate.lock").write_bytes(data)
    pushed = {"GITHUB_EVENT_NAME": "push", "GITHUB_REPOSITORY": "acme/demo", "GITHUB_SHA": "e" * 40}
    with pytest.raises(NoBaseline, match="is broken"):
        fetch_pinned(None, read_event(pushed), "codegate.lock", folder)


def test_without_a_pull_request_the_tree_counts(scene: Scene) -> None:
    scene.lock(BY_NAME)
    scene.put(GOOD)
    scene.event = event_of(scene.server, scene.folder.parent, None)
    scene.content.commits.clear()
    assert scene.fetch().notes == ()
    (scene.workspace / "codegate.lock").unlink()
    assert "in the checked-out tree" in str(scene.nothing())


# Where GitHub does not answer.


def _clone(scene: Scene) -> None:
    """Make the checked-out tree a clone whose base commit holds lock and baseline, and whose tree holds others."""
    scene.lock(BY_NAME)
    (scene.workspace / "baseline.json").write_bytes(encode_file(PINNED))
    commit = commit_all(scene.workspace)
    scene.event = event_of(scene.server, scene.folder.parent, commit)
    (scene.workspace / "baseline.json").unlink()
    (scene.workspace / "codegate.lock").write_bytes(b"{}")


@pytest.mark.parametrize("token", [True, False])
def test_where_github_does_not_answer_or_there_is_no_token_the_local_clone_is_asked(scene: Scene, token: bool) -> None:
    _clone(scene)
    if token:
        tries_of_three_requests = 12  # for the lock, for artifacts, for the baseline
        scene.server.fail(Fault("GET", r".*", Reply({}, 503), times=tries_of_three_requests))
    else:
        scene.github = None
    found = scene.fetch()
    assert "of the base commit" in found.source
    assert found.notes[0] == CHANGED
    assert token or "there is no token to fetch them" in found.notes[1]
    assert token == bool(scene.server.requests)
    scene.github = None
    with pytest.raises(NoBaseline, match=r"there is no other\.lock"):
        scene.fetch("other.lock")


def test_a_clone_without_the_base_commit_is_no_help(scene: Scene) -> None:
    scene.lock()
    scene.github = None
    assert "cannot be read" in str(scene.nothing())


def test_a_base_commit_that_nobody_can_read_is_a_fault_of_the_infrastructure(scene: Scene) -> None:
    scene.lock()
    scene.server.fail(Fault("GET", r".*/contents/.*", Reply({}, 503), times=4))
    with pytest.raises(GitHubError) as caught:
        scene.fetch()
    assert caught.value.exit_code == ExitCode.INFRASTRUCTURE


def test_a_list_that_does_not_come_is_a_fault_of_the_infrastructure(scene: Scene) -> None:
    scene.lock(BY_NAME)
    scene.server.fail(Fault("GET", r".*/actions/artifacts", Reply({}, 502), times=4))
    assert scene.nothing().exit_code == ExitCode.INFRASTRUCTURE


def test_a_permission_that_is_missing_is_named(scene: Scene) -> None:
    scene.put(GOOD)
    scene.lock(BY_NAME)
    scene.server.tokens[SECRET] = Token(frozenset({"contents: read"}))
    error = scene.nothing()
    assert "Resource not accessible" in error.refused[0]
    assert "actions: read" in error.refused[0]
    assert error.exit_code == ExitCode.USAGE
