"""``codegate affected``: what a gate reads is taken from the two commits, and a change to any of it is named."""

import json
from pathlib import Path

import pytest

from codegate.candidates import CandidateSpec
from codegate.gating.baseline import Lock
from codegate.operations.affected import affected, merged_before
from codegate.solving import read_harness
from tests.kit.repository import HistoryBuilder, run_git
from tests.running.world import codegate

AGENT = {"agent": "command", "command": ["{python}", "{files}/own.py"], "files": ["own.py"], "model": "openai:m-1"}
REPLAY = {"provider": "replay", "model": "../answers.jsonl"}
MODEL = {"provider": "openai", "model": "gpt-4.1-2025-04-14"}
CLAUDE = {"agent": "claude-code", "model": "anthropic:claude-haiku-4-5-20251001"}
LOCK = Lock(baseline="old/pinned.json", sha256="0" * 64, digest="0" * 64, suite_digest="0" * 64, model="m")


def config(**more: object) -> str:
    return json.dumps({"suite": "evals/ours", "baseline": "ci/gate.lock", "candidates": [MODEL], **more})


def named(base: str, head: str, config: str = "codegate.yml", *, cwd: Path) -> dict[str, str]:
    """Return the changed files that matter, and what each is."""
    return dict(affected(cwd, base, head, config, ()).files)


@pytest.fixture
def history(tmp_path: Path) -> HistoryBuilder:
    """A repository whose configuration, suite and lock are in folders of their own."""
    made = HistoryBuilder(tmp_path / "r")
    prompts = [{**MODEL, "prompt": "fix.md"}, {**MODEL, "prompt": {"system": "system/one.md"}, "matrix": {"seed": [1]}}]
    inside = {"suite": "../evals/ours", "baseline": "../ci/gate.lock", "candidates": [*prompts, AGENT, REPLAY]}
    made.commit("begin", {
        "gate/codegate.yml": config(**inside),
        "gate/fix.md": "{statement}", "gate/system/one.md": "Fix it.", "answers.jsonl": "", "gate/own.py": "",
        "evals/ours/suite.yml": "name: ours\n", "evals/theirs/suite.yml": "name: theirs\n",
        "ci/gate.lock": LOCK.model_dump_json(by_alias=True), "ci/old/pinned.json": "{}",
        "codegate.yml": config(suite="evals/theirs"), "src/a.py": "x = 1\n",
    })  # fmt: skip
    return made


def test_all_that_the_configuration_names_matters_and_nothing_else(history: HistoryBuilder) -> None:
    history.branch("change")
    everything = [path for path in history.git("ls-files", "-z").split("\0") if path]
    history.commit("all", {path: (history.folder / path).read_text() + " " for path in everything})
    assert named("main", "change", "gate/codegate.yml", cwd=history.folder) == {
        "answers.jsonl": "a candidate's recorded answers",
        "ci/gate.lock": "the lock of the baseline",
        "ci/old/pinned.json": "the baseline",
        "evals/ours/suite.yml": "the suite",
        "gate/codegate.yml": "the configuration",
        "gate/fix.md": "a file of a candidate",
        "gate/own.py": "a file of a candidate",
        "gate/system/one.md": "a file of a candidate",
    }
    done = codegate("affected", "main", "change", "--also", "src", cwd=history.folder / "evals")
    assert (done.code, done.stdout) == (0, "gate=true\n")
    assert "src/a.py changed: named by --also\n" in done.stderr
    document = codegate("affected", "main", "change", "--json", cwd=history.folder).document
    assert (document["schema"], document["gate"]) == ("codegate.affected/1", True)
    assert {"path": "codegate.yml", "reason": "the configuration"} in document["files"]


def test_a_pull_request_cannot_un_name_what_the_base_names(history: HistoryBuilder) -> None:
    history.branch("change")
    history.commit("elsewhere", {
        "codegate.yml": config(suite="new", candidates=[{**MODEL, "prompt": "new.md"}]),
        "evals/theirs/suite.yml": None, "new/suite.yml": "name: theirs\n", "new.md": "{statement}",
    })  # fmt: skip
    assert named("main", "change", cwd=history.folder) == {
        "codegate.yml": "the configuration", "evals/theirs/suite.yml": "the suite", "new/suite.yml": "the suite",
        "new.md": "a file of a candidate",
    }  # fmt: skip


def test_a_file_of_an_agents_harness_matters_and_no_other_agents(history: HistoryBuilder) -> None:
    claude = {"agent": "claude-code", "version": "2.1.330", "model": "anthropic:claude-haiku-4-5-20251001"}
    files = {"CLAUDE.md": "@docs/a.md", "docs/a.md": "a", "docs/b.md": "b", "GEMINI.md": "", ".codex/config.toml": ""}
    history.commit("agents", {"codegate.yml": config(candidates=[{**claude, "harness": "."}]), **files})
    history.branch("change")
    more = {".claude/skills/new/SKILL.md": "new", ".mcp.json": '{"mcpServers": {"s": {"command": "src/a.py"}}}'}
    history.commit("all", {**{path: text + " " for path, text in files.items()}, **more, "src/a.py": "x = 3\n"})
    assert named("main", "change", cwd=history.folder) == dict.fromkeys(
        (".claude/skills/new/SKILL.md", ".mcp.json", "CLAUDE.md", "docs/a.md", "src/a.py"),
        "a file of a candidate's harness",
    )


@pytest.mark.parametrize(
    ("agent", "links", "path"),
    [
        ({"agent": "codex", "model": "openai:gpt-5.4-mini-2026-03-17"}, {".agents/skills": "../docs/skills"},
         "docs/skills/review/SKILL.md"),
        (CLAUDE, {".claude": "tools/now", "tools/now": "claude"}, "tools/claude/skills/review/SKILL.md"),
        (CLAUDE, {"guides": "real/guides"}, "real/guides/style.md"),
        (CLAUDE, {"guides": "src/../real/guides"}, "real/guides/style.md"),
        (CLAUDE, {"packages/a/CLAUDE.md": "../../docs/agents.md"}, "docs/agents.md"),
        ({**CLAUDE, "harness": "harnesses/now"}, {"harnesses/now": "terse"}, "harnesses/terse/CLAUDE.md"),
        (CLAUDE, {"newest": "real/guides", "loop": "loop"}, None),
    ],
)  # fmt: skip
def test_links_of_a_harness_are_followed_and_matter_themselves(
    history: HistoryBuilder, agent: dict[str, str], links: dict[str, str], path: str | None
) -> None:
    for link, target in links.items():
        (history.folder / link).parent.mkdir(parents=True, exist_ok=True)
        (history.folder / link).symlink_to(target)
    files = {"CLAUDE.md": "@guides/style.md", "real/guides/style.md": "Short.", **({path: "Look."} if path else {})}
    settings = config(candidates=[{"version": "2.1.330", "harness": ".", **agent}])
    history.commit("agents", {"codegate.yml": settings, **files})
    history.branch("change")
    changed = path or "real/guides/style.md"
    history.commit("another", {changed: "Look twice.", "src/a.py": "x = 2\n"})
    what = "a file of a candidate's harness"
    assert named("main", "change", cwd=history.folder) == ({path: what} if path else {})
    for link in links:
        (history.folder / link).unlink()
        (history.folder / link).symlink_to("nowhere")
    history.commit("elsewhere")
    found = named("HEAD^", "HEAD", cwd=history.folder)
    assert found == (dict.fromkeys(links, what) if path else {}), "what agents read is another file now"


def test_the_whole_repository_is_the_harness_of_a_configuration_below_its_top(history: HistoryBuilder) -> None:
    settings = config(candidates=[{**CLAUDE, "version": "2.1.330", "harness": ".."}])
    history.commit("agents", {"ci/codegate.yml": settings, "AGENTS.md": "", "src/CLAUDE.md": ""})
    history.branch("change")
    history.commit("both", {"AGENTS.md": "Long.", "src/CLAUDE.md": "Short.", "src/a.py": "x = 2\n"})
    assert set(named("main", "change", "ci/codegate.yml", cwd=history.folder)) == {"AGENTS.md", "src/CLAUDE.md"}


def test_what_was_merged_since_the_pin_is_told_from_what_a_change_does(history: HistoryBuilder) -> None:
    claude = CandidateSpec.model_validate({**CLAUDE, "version": "2.1.330", "harness": ".."})
    folder, names = history.folder / "gate", [f".claude/agents/{name}.md" for name in ("kept", "left", "merged", "new")]
    kept, left, merged, new = names
    (history.folder / "CLAUDE.md").symlink_to("AGENTS.md")
    history.commit("agents", {kept: "1", left: "1", merged: "1", "AGENTS.md": "1"})
    pinned = read_harness(claude, folder)
    history.commit("since", {left: None, merged: "2", "AGENTS.md": "2"})
    history.branch("change")
    history.commit("change", {new: "1", kept: "2"})
    found = merged_before(history.folder, "main", folder, pinned, [read_harness(claude, folder)])
    assert found == (left, merged, "AGENTS.md", "CLAUDE.md")
    history.commit("more", {"AGENTS.md": "3", merged: None})
    assert merged_before(history.folder, "main", folder, pinned, [read_harness(claude, folder)]) == (left,)


def test_what_a_linked_file_imports_matters(history: HistoryBuilder) -> None:
    (history.folder / "CLAUDE.md").symlink_to("AGENTS.md")
    settings = config(candidates=[{**CLAUDE, "version": "2.1.330", "harness": "."}])
    history.commit("agents", {"codegate.yml": settings, "AGENTS.md": "@docs/style.md", "docs/style.md": "Short."})
    history.branch("change")
    history.commit("both", {"docs/style.md": "Long.", "src/a.py": "x = 2\n"})
    assert set(named("main", "change", cwd=history.folder)) == {"docs/style.md"}


def test_a_link_that_no_harness_reads_over_makes_no_change_matter(history: HistoryBuilder) -> None:
    targets = ["/etc/hosts", "src/../real", "../../outside", "missing/../../real"]
    (history.folder / "docs").mkdir()
    for number, target in enumerate(targets):
        (history.folder / f"docs/{number}").symlink_to(target)
    claude = {**CLAUDE, "version": "2.1.330", "harness": "."}
    history.commit("agents", {"codegate.yml": config(candidates=[claude]), "CLAUDE.md": "", "real/style.md": "Short."})
    history.branch("change")
    history.commit("source", {"src/a.py": "x = 2\n"})
    assert named("main", "change", cwd=history.folder) == {}
    for target in targets:
        (history.folder / "CLAUDE.md").unlink()
        (history.folder / "CLAUDE.md").symlink_to(target)
        history.commit("its instructions", {"src/a.py": f"x = {target!r}\n"})
        outside = {"src/a.py": "the gate reads over the symbolic link CLAUDE.md"} if target != "src/../real" else {}
        expected = {"CLAUDE.md": "a file of a candidate's harness", **outside}
        assert named("main", "change", cwd=history.folder) == expected, target


def test_with_too_many_paths_through_links_every_change_matters(history: HistoryBuilder) -> None:
    (history.folder / "links").mkdir()
    for number in range(320):
        (history.folder / f"links/{number}").symlink_to("../real")
    claude = {**CLAUDE, "version": "2.1.330", "harness": "."}
    history.commit("agents", {
        "codegate.yml": config(candidates=[claude]), **{f"real/{number}.md": "" for number in range(320)},
    })  # fmt: skip
    history.branch("change")
    history.commit("source", {"src/a.py": "x = 2\n"})
    [(path, reason)] = named("main", "change", cwd=history.folder).items()
    assert path == "src/a.py"
    assert reason.endswith("over 100000 paths lead through symbolic links")


def test_what_only_the_base_changed_since_is_not_the_pull_requests(history: HistoryBuilder) -> None:
    history.branch("change")
    history.commit("source", {"src/a.py": "x = 2\n"})
    history.git("checkout", "--quiet", "main")
    history.commit("another model", {"codegate.yml": config(samples=3), "evals/theirs/suite.yml": "name: other\n"})
    done = codegate("affected", "main", "change", cwd=history.folder)
    assert (done.code, done.stdout) == (0, "gate=false\n")
    assert done.stderr == (
        "nothing changed that the gate reads: ci/gate.lock, ci/old/pinned.json, codegate.yml, evals/ours, "
        "evals/theirs\n"
    )


def test_the_work_tree_is_not_looked_at(history: HistoryBuilder) -> None:
    history.write({"codegate.yml": "broken: [", "evals/theirs/suite.yml": "more\n"})
    assert named("HEAD", "HEAD", cwd=history.folder / "src") == {}


def test_where_a_configuration_cannot_be_read_every_change_matters(history: HistoryBuilder) -> None:
    for number, broken in enumerate(["candidates: [nobody]", "a: &a [*a]", "- " * 200, "x" * 2_000_000, "\udcff"]):
        base = history.commit("broken", {"codegate.yml": broken.encode("utf-8", "surrogateescape")})
        history.commit("source", {"src/a.py": f"x = {number}\n"})
        [(path, reason)] = named(base, "HEAD", cwd=history.folder).items()
        assert path == "src/a.py"
        assert reason.startswith("what the gate reads is not known at "), broken[:20]


def test_without_a_configuration_the_first_one_matters(history: HistoryBuilder) -> None:
    history.commit("none", {"codegate.yml": None})
    history.branch("change")
    history.commit("begin", {"codegate.yml": config(), "codegate.lock": "", "src/a.py": "x = 2\n"})
    first = {"codegate.yml": "the configuration", "codegate.lock": "the lock of the baseline"}
    assert named("main", "change", cwd=history.folder) == first
    assert named("change", "main", cwd=history.folder) == {}, "the merge base is main itself"
    history.commit("none again", {"codegate.yml": None})
    assert named("HEAD^", "HEAD", cwd=history.folder) == {"codegate.yml": "the configuration"}


def test_a_configuration_that_was_renamed_leaves_no_green_gate(history: HistoryBuilder) -> None:
    history.git("mv", "codegate.yml", "codegate.yaml")
    history.commit("another suffix")
    assert "codegate.yml" in named("HEAD^", "HEAD", cwd=history.folder)
    history.commit("another model", {"codegate.yaml": config(samples=3)})
    done = codegate("affected", "HEAD^", "HEAD", "--also", "src", cwd=history.folder)
    assert (done.code, done.stdout) == (2, ""), done.stderr
    assert " has codegate.yml: what the gate reads is not known." in done.stderr
    assert "--config" in done.stderr


@pytest.mark.parametrize("place", ["evals", "evals/theirs", "codegate.yml", "ci"])
def test_a_symbolic_link_is_not_followed(history: HistoryBuilder, place: str) -> None:
    history.git("mv", place, "real")
    (history.folder / place).symlink_to("real" if "/" not in place else "../real")
    linked = history.commit("a link")
    assert place in named("HEAD^", "HEAD", cwd=history.folder), "it took the place of what was read"
    history.branch("change")
    history.commit("behind it", {"src/a.py": "x = 2\n"})
    [reason] = named(linked, "change", cwd=history.folder).values()
    assert "symbolic link" in reason


def test_executable_bits_and_odd_names_count(history: HistoryBuilder) -> None:
    base, folder = history.git("rev-parse", "HEAD"), history.folder
    history.git("update-index", "--chmod=+x", "evals/theirs/suite.yml")
    (folder / "evals/theirs/a\nb::error::x").write_text("")
    history.git("add", "evals/theirs/a\nb::error::x")
    history.commit_staged("odd")
    assert set(named(base, "HEAD", cwd=folder)) == {"evals/theirs/suite.yml", "evals/theirs/a\nb::error::x"}
    done = codegate("affected", base, "HEAD", cwd=folder)
    assert len(done.stderr.splitlines()) == 2
    assert not [line for line in done.stderr.splitlines() if line.startswith("::")]


def test_a_submodule_that_is_to_be_ignored_counts(history: HistoryBuilder) -> None:
    def module(place: str, commit: str) -> str:
        history.git("update-index", "--add", "--cacheinfo", f"160000,{commit},{place}")
        return history.commit_staged("a module")

    first, place = history.git("rev-parse", "HEAD"), "evals/theirs/module"
    history.write({".gitmodules": f'[submodule "m"]\n\tpath = {place}\n\turl = ./m\n\tignore = all\n'})
    history.git("add", ".gitmodules")
    second = module(place, first)
    module(place, second)
    assert named(second, "HEAD", cwd=history.folder) == {place: "the suite"}
    history.git("rm", "-r", "-q", "--cached", "evals")
    module("evals", first)
    assert named("HEAD^", "HEAD", cwd=history.folder)["evals"] == "the suite"


def test_many_files_are_named_as_far_as_people_read(history: HistoryBuilder) -> None:
    history.commit("many", {f"evals/theirs/{number}": "" for number in range(25)})
    done = codegate("affected", "HEAD^", "HEAD", cwd=history.folder)
    assert len(done.stderr.splitlines()) == 21
    assert done.stderr.endswith("\n5 more files changed that the gate reads\n")


@pytest.mark.parametrize(
    ("words", "cause"),
    [
        (("", "HEAD"), "BASE is empty"),
        (("0" * 40, "HEAD"), "is not in "),
        (("main", "--", "--output=x"), "is not in "),
        (("main:src", "HEAD"), "is not in "),
        (("main", "HEAD", "--config", "../codegate.yml"), "no path in the repository"),
        (("main", "HEAD", "--also", "/etc"), "no path in the repository"),
        (
            ("main", "HEAD", "--config", "gate/gone.yml", "--also", "src"),
            "HEAD has gate/gone.yml: what",
        ),
        (("main", "HEAD", "--config", "gate"), "HEAD has gate: what the gate"),
    ],
)
def test_where_there_is_no_answer_none_is_printed(history: HistoryBuilder, words: tuple[str, ...], cause: str) -> None:
    done = codegate("affected", *words, cwd=history.folder)
    assert (done.code, done.stdout) == (2, ""), done.stderr
    assert cause in done.stderr


def test_a_clone_without_the_merge_base_has_no_answer(history: HistoryBuilder, tmp_path: Path) -> None:
    history.branch("change")
    history.commit("source", {"src/a.py": "x = 2\n"})
    history.git("checkout", "--quiet", "main")
    history.commit("more", {"src/b.py": "x = 2\n"})
    run_git(tmp_path, "clone", "-q", "--depth=1", "--no-single-branch", f"file://{history.folder}", "shallow")
    done = codegate("affected", "origin/main", "origin/change", cwd=tmp_path / "shallow")
    assert (done.code, done.stdout) == (2, ""), done.stderr
    assert "have no common commit" in done.stderr
    assert "fetch-depth: 0" in done.stderr


def test_of_several_merge_bases_each_counts(history: HistoryBuilder) -> None:
    history.branch("one")
    one = history.commit("one", {"codegate.yml": config(samples=3)})
    history.git("checkout", "--quiet", "main")
    other = history.commit("other", {"src/a.py": "x = 2\n"})

    def crossed(kept: str, *parents: str) -> str:
        words = [word for parent in parents for word in ("-p", parent)]
        return history.git("-c", "user.name=A", "-c", "user.email=a@example.org",
                           "commit-tree", f"{kept}^{{tree}}", *words, "-m", "merge")  # fmt: skip

    base, head = crossed(one, one, other), crossed(other, other, one)
    assert "codegate.yml" in named(base, head, cwd=history.folder)
    assert "codegate.yml" in named(head, base, cwd=history.folder)
