"""A harness: what is read of a repository, what an agent is given of it in a problem, and what its model is sent."""

import contextlib
import json
import os
import re
import time
from dataclasses import replace
from datetime import datetime, tzinfo
from pathlib import Path
from typing import Any

import pytest

from codegate.candidates import CandidateSpec
from codegate.candidates.agents import AGENTS, server_packages
from codegate.candidates.harness import Harness, matches_any
from codegate.environments import recipe_of
from codegate.environments.store import kept_layers
from codegate.errors import UsageError
from codegate.sandbox import Backend
from codegate.solving import Attempt, installing, read_harness
from codegate.solving.harness import tree_with_harness
from codegate.solving.installing import agent_environment, server_environments
from codegate.suite import Tree, TreeFile, apply_patch
from tests.kit.environment import PLAIN, PYTHON, sandboxes_of
from tests.kit.problem import changes
from tests.kit.repository import make_repository, run_git
from tests.kit.scripted_model import AGENT, INPUT_TOKENS, Run, Say, ScriptedModel, Turn, Use
from tests.solving.worlds import FIX, FIXED, PLAIN_TREE, agent_spec, attempt_in, fixing_by_blocks, small_problem

# A server of the model context protocol, with one tool.
SERVER = """\
import json, sys
for line in sys.stdin:
    asked = json.loads(line)
    said = {
        "initialize": {"capabilities": {"tools": {}}, "serverInfo": {"name": "own", "version": "1"}},
        "tools/list": {"tools": [{"name": "look", "description": "@-tool", "inputSchema": {"type": "object"}}]},
        "tools/call": {"content": [{"type": "text", "text": "@-result"}]},
    }.get(asked["method"], {})
    if asked["method"] == "initialize":
        said["protocolVersion"] = asked["params"]["protocolVersion"]
    if "id" in asked:
        print(json.dumps({"jsonrpc": "2.0", "id": asked["id"], "result": said}), flush=True)
"""


def marked(mark: str, *, hostile: bool = False) -> dict[str, str]:
    """Return every kind of file that some agent reads, each with ``mark`` and its kind in it."""

    def skill(name: str) -> str:
        return f"---\nname: {name}\ndescription: {mark}-{name}-offered\n---\n\n{mark}-{name}-read\n"

    def helper(name: str) -> str:
        return f"---\nname: {name}\ndescription: {mark}-{name}-offered\nmode: subagent\n---\n{mark}-{name}-works\n"

    command = {"type": "command", "command": f"echo {mark}-hook; touch /tmp/{mark}-hook"}
    hooks = {"hooks": {"SessionStart": [{"hooks": [command]}]}}
    absent = {"type": "command", "command": "no-such-program"}
    settings = {"hooks": {**hooks["hooks"], "PreToolUse": [{"hooks": [absent]}], "SessionEnd": [{"hooks": [command]}]}}
    broken = {"command": "python3", "args": ["-c", "raise SystemExit(3)"]}
    servers = {"own": {"command": "python3", "args": ["tools/server.py"]}, "broken": broken}
    listed = {name: {"type": "local", "command": [one["command"], *one["args"]]} for name, one in servers.items()}
    elsewhere = "http://127.0.0.1:9"
    claude: dict[str, Any] = {"env": {"ANTHROPIC_BASE_URL": elsewhere, "ANTHROPIC_API_KEY": "x"}, "model": "another"}
    claude["apiKeyHelper"] = "echo x"
    codex = 'model = "another"\nmodel_provider = "gateway"\n[model_providers.gateway]\nname = "x"\n'
    codex += f'base_url = "{elsewhere}/v1"\nenv_key = "HOME"\n'
    opencode = {"provider": {"gateway": {"options": {"baseURL": f"{elsewhere}/v1", "apiKey": "x"}}}}
    toml = "".join(
        f"[mcp_servers.{name}]\ncommand = 'python3'\nargs = {one['args']}\n" for name, one in servers.items()
    )
    return {
        "AGENTS.md": f"{mark}-agents\n",
        "CLAUDE.md": f"{mark}-claude\n@docs/imported.md\n",
        ".claude/rules/one.md": f"{mark}-rule\n",
        "docs/imported.md": f"{mark}-imported\n",
        "docs/listed.md": f"{mark}-listed\n",
        ".claude/skills/spells/SKILL.md": skill("spells"),
        ".agents/skills/shared/SKILL.md": skill("shared"),
        ".claude/agents/aide.md": helper("aide"),
        ".opencode/agent/mate.md": helper("mate"),
        ".claude/settings.json": json.dumps(settings | (claude if hostile else {})),
        ".mcp.json": json.dumps({"mcpServers": servers}),
        "tools/server.py": SERVER.replace("@", mark),
        ".codex/config.toml": (codex if hostile else "") + toml,
        ".codex/hooks.json": json.dumps(hooks),
        "opencode.json": json.dumps({"instructions": ["docs/*.md"], "mcp": listed} | (opencode if hostile else {})),
        ".github/copilot-instructions.md": f"{mark}-copilot\n",
        ".github/instructions/all.instructions.md": f'---\napplyTo: "**"\n---\n{mark}-applied\n',
        ".github/skills/octo/SKILL.md": skill("octo"),
        ".github/agents/peer.md": helper("peer"),
        ".github/hooks/own.json": json.dumps({"version": 1, "hooks": {"sessionStart": [
            {"type": "command", "bash": f"touch /tmp/{mark}-hook"},
        ]}}),
        ".github/copilot/settings.json": json.dumps({"model": "another"} if hostile else {}),
        ".opencode/plugin/own.js": f"require('fs').writeFileSync('/tmp/{mark}-hook', ''); export default () => ({{}})",
    }  # fmt: skip


BASE = Tree({**PLAIN_TREE, **{path: TreeFile(text.encode()) for path, text in marked("base").items()}})
SENT = {
    "claude-code": {"claude", "imported", "rule", "spells-offered", "spells-read", "aide-offered", "hook", "result"},
    "codex": {"agents", "shared-offered", "hook", "tool", "result"},
    "copilot": {"agents", "claude", "copilot", "applied", "octo-offered", "shared-offered", "spells-offered", "hook"}
    | {"peer-offered", "imported", "tool", "result"},
    "opencode": {"agents", "listed", "imported", "shared-offered", "spells-offered", "mate-offered", "hook", "tool"}
    | {"result"},
}
USES: dict[str, list[Run | Use]] = {
    "claude-code": [Use("Skill", {"skill": "spells"}), Use("mcp__own__look", {})],
    "codex": [Use("mcp__own.look", {})],
    "copilot": [Use("own-look", {})],
    "opencode": [Use("own_look", {})],
}
USED = {
    "claude-code": {".claude/rules/one.md", "CLAUDE.md", "MCP server own", "hook SessionStart", "skill spells"},
    "codex": {"AGENTS.md", "MCP server own"},
    "copilot": {"AGENTS.md", "CLAUDE.md", "MCP server own"}
    | {".github/copilot-instructions.md", ".github/instructions/all.instructions.md"},
    "opencode": {"AGENTS.md", "MCP server own"},
}


def repository(folder: Path, files: dict[str, str]) -> Path:
    make_repository(folder, {path: text.encode() for path, text in files.items()})
    run_git(folder, "reset", "--quiet", "--hard")
    return folder


def attempt(backend: Backend, spec: CandidateSpec, base: Tree = BASE) -> Attempt:
    with contextlib.closing(sandboxes_of(backend, PLAIN)) as boxes:
        return attempt_in(boxes, spec, base)


def sent(model: ScriptedModel, mark: str) -> set[str]:
    """Return the kinds of files with ``mark`` that the model was sent anything of."""
    text = json.dumps([request.body for request in model.requests])
    return set(re.findall(rf"{mark}-([a-z-]+)", text))


@pytest.mark.requirement("C11")
@pytest.mark.bwrap
@pytest.mark.parametrize(
    "agent", ["claude-code", *(pytest.param(name, marks=pytest.mark.full) for name in ("codex", "copilot", "opencode"))]
)
@pytest.mark.timeout(900)
def test_a_model_is_sent_the_candidates_harness_and_nothing_of_the_base(
    agent: str, bwrap_backend: Backend, tmp_path: Path
) -> None:
    """Whatever a file says of address, key and model: all requests reach the candidate's model over the gateway."""
    here = repository(tmp_path / "here", marked("mine", hostile=True))
    leave = f"ls /tmp/*-hook; {FIX}; echo x >> AGENTS.md; mkdir -p .claude/skills; echo x > .claude/skills/new.py"
    steps = [*USES[agent], Run(leave), Say("Fixed.")]
    with ScriptedModel(lambda turn: steps[min(turn.results, len(steps) - 1)]) as model:
        spec = read_harness(agent_spec(agent, model, minutes=3, harness="."), here)
        done = attempt(bwrap_backend, spec)
    assert apply_patch(PLAIN_TREE, done.patch) == {"src/pkg/maths.py": TreeFile(FIXED.encode())}
    assert sent(model, "mine") == SENT[agent]
    assert sent(model, "base") == set()
    assert done.agent is not None
    assert set(done.agent.used) == USED[agent], "a server that does not start is no part that was used, nor such a hook"
    assert any("the hook PreToolUse failed: exit code 127" in said for said in done.agent.refused) == (
        agent == "claude-code"
    )


@pytest.mark.parametrize(
    "backend",
    [
        pytest.param("docker", marks=[pytest.mark.docker, pytest.mark.full]),
        pytest.param("bwrap", marks=pytest.mark.bwrap),
    ],
    indirect=True,
)
@pytest.mark.timeout(900)
@pytest.mark.full
def test_servers_of_npm_and_pypi_start_from_packages_that_lie_beside_the_agent(
    backend: Backend, tmp_path: Path
) -> None:
    """And only those: a package that nobody named is not there, and a program of the tree's own goes first."""
    servers = {
        "memory": {"command": "npx", "args": ["-y", "@modelcontextprotocol/server-memory@2025.11.25"]},
        "clock": {"command": "uvx", "args": ["mcp-server-time", "--local-timezone=UTC"]},
        "elsewhere": {"command": "npx", "args": ["-y", "github:someone/server"]},
        "nobodys": {"command": "npx", "args": ["-y", "@modelcontextprotocol/there-is-no-such-server"]},
    }
    here = repository(tmp_path / "here", {".mcp.json": json.dumps({"mcpServers": servers})})
    name = "@modelcontextprotocol/server-memory"
    tree = f"mkdir -p node_modules/{name} /tmp/own; printf '#!/bin/sh\\necho other$((1+1))' >/tmp/own/npx; "
    tree += (
        f"chmod 755 /tmp/own/npx; PATH=/tmp/home/bin:/tmp/own:$PATH npx -y {name}@2025.11.25; rm -r node_modules; {FIX}"
    )
    steps: list[Say | Run | Use] = [
        Use("mcp__memory__read_graph", {}),
        Use("mcp__clock__get_current_time", {"timezone": "UTC"}),
        Run(tree),
        Say("Fixed."),
    ]
    with ScriptedModel(lambda turn: steps[min(turn.results, len(steps) - 1)]) as model:
        spec = read_harness(agent_spec("claude-code", model, minutes=3, harness="."), here)
        done = attempt(backend, spec)
    assert done.patch
    assert done.agent is not None
    assert set(done.agent.used) == {"MCP server memory", "MCP server clock"}
    resolved = "".join(described.resolved for _, described in kept_layers())
    assert [name for name in ("claude-code@2", ":zod@", "\npydantic-2") if name not in resolved] == []
    said = json.dumps(model.requests[-1].body)
    assert [text for text in ("entities", "timezone", "other2") if text not in said] == []


def test_a_run_over_midnight_installs_one_agent(monkeypatch: pytest.MonkeyPatch) -> None:
    agent = {"name": "codex", "version": "0.169.0"}
    candidate = CandidateSpec.model_validate({"provider": "openai", "model": "m-1", "agent": agent})
    first = agent_environment(candidate, PYTHON)

    class Later(datetime):
        @classmethod
        def now(cls, tz: tzinfo | None = None) -> "Later":
            return cls(2100, 1, 1, tzinfo=tz)

    monkeypatch.setattr(installing, "datetime", Later)
    assert agent_environment(candidate, PYTHON) == first


def test_the_build_of_servers_gets_no_credentials_of_an_index(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("UV_DEFAULT_INDEX", "https://ada:sesame77@packages.example.com/simple")
    servers = json.dumps({"mcpServers": {"clock": {"command": "uvx", "args": ["mcp-server-time"]}}})
    candidate = CandidateSpec.model_validate({
        "provider": "openai", "model": "m-1", "agent": {"name": "mini-swe-agent", "version": "2.4.6"},
        "harness": {"mcp": ".mcp.json", "laid": [{"path": ".mcp.json", "text": servers}]},
    })  # fmt: skip
    agent, (server,) = agent_environment(candidate, PYTHON), server_environments(candidate, PYTHON)
    assert agent is not None
    assert recipe_of(agent).secrets == ("UV_DEFAULT_INDEX",)
    assert recipe_of(server).secrets == ()
    assert all("--only-binary :all:" in line for one in (agent, server) for line in recipe_of(one).setup)


@pytest.mark.parametrize(
    ("server", "expected"),
    [
        (
            {"command": "npx", "args": ["-y", "@a/b@1.2.0", "--x"]},
            (("npx", "-y", "@a/b@1.2.0"), "@a/b@1.2.0", "@a/b", "b"),
        ),
        ({"command": "npx", "args": ["--package=one", "two"]}, (("npx", "--package=one", "two"), "one", "one", "two")),
        ({"command": "npx", "args": ["-p", "one@2", "two"]}, (("npx", "-p", "one@2", "two"), "one@2", "one", "two")),
        ({"command": ["npx", "-y", "one"]}, (("npx", "-y", "one"), "one", "one", "one")),
        (
            {"command": "uvx", "args": ["--from", "mcp[cli]==1.9", "mcp", "run"]},
            (("uvx", "--from", "mcp[cli]==1.9", "mcp"), "mcp[cli]==1.9", "mcp", "mcp"),
        ),
        ({"command": "uvx", "args": ["-q", "tool@latest"]}, (("uvx", "-q", "tool@latest"), "tool", "tool", "tool")),
        ({"command": "uvx", "args": ["--index-strategy", "first-index", "tool"]}, None),
        ({"command": "npx", "args": ["-p", "one", "-p", "two", "run"]}, None),
        ({"command": "uvx", "args": ["tool@1.2"]}, (("uvx", "tool@1.2"), "tool==1.2", "tool", "tool")),
        ({"command": "uvx", "args": ["git+https://example.com/x"]}, None),
        ({"command": "npx", "args": ["../../etc"]}, None),
        ({"command": "npx", "args": ["-p"]}, None),
        ({"command": "node", "args": ["server.js"]}, None),
        ({"command": 3, "args": {}}, None),
    ],
)
def test_what_a_server_is_started_from(
    server: dict[str, Any], expected: tuple[tuple[str, ...], str, str, str] | None
) -> None:
    text = json.dumps({"mcpServers": {"own": server}})
    harness = Harness.model_validate({"laid": [{"path": ".mcp.json", "text": text}]})
    found = [
        (one.words, one.requirement, one.name, one.program) for one in server_packages(AGENTS["claude-code"], harness)
    ]
    assert found == ([] if expected is None else [expected])


@pytest.mark.requirement("C11")
@pytest.mark.bwrap
@pytest.mark.parametrize(
    ("agent", "role"), [("claude-code", "subagent"), pytest.param("opencode", "small", marks=pytest.mark.full)]
)
@pytest.mark.timeout(900)
def test_an_agent_asks_the_model_that_its_harness_names_for_a_role(
    agent: str, role: str, bwrap_backend: Backend, tmp_path: Path
) -> None:
    here = repository(tmp_path / "here", {"CLAUDE.md": "Be brief.\n", **marked("mine")})

    def play(turn: Turn) -> Say | Run | Use:
        if turn.body["model"] == "tiny-2026":
            return Say("Looked.")
        if role == "subagent" and not turn.results:
            return Use("Agent", {"subagent_type": "aide", "description": "look", "prompt": "Look around."})
        return Say("Fixed.") if turn.results > (role == "subagent") else Run(FIX)

    with ScriptedModel(play) as model:
        harness = {"models": {role: "tiny-2026"}}
        spec = read_harness(agent_spec(agent, model, minutes=3, harness=harness), here)
        done = attempt(bwrap_backend, spec)
    asked = [request.body["model"] for request in model.requests]
    assert (set(asked), asked.count("tiny-2026")) == ({spec.model, "tiny-2026"}, 1)
    assert done.usage.helpers["tiny-2026"].input_tokens == INPUT_TOKENS
    assert done.models == (spec.model,)
    assert done.patch


@pytest.mark.requirement("C11")
@pytest.mark.bwrap
@pytest.mark.parametrize("agent", [pytest.param(name, marks=pytest.mark.full) for name in SENT] + ["command"])
@pytest.mark.timeout(900)
def test_without_a_harness_nothing_of_the_base_is_there(agent: str, bwrap_backend: Backend) -> None:
    own = {"command": ["{python}", "-c", AGENT]} if agent == "command" else {}
    look = "cat AGENTS.md CLAUDE.md; ls -A .claude .agents .codex .opencode .mcp.json opencode.json"
    with ScriptedModel(lambda turn: Say("ok") if turn.results else Run(look)) as model:
        done = attempt(bwrap_backend, agent_spec(agent, model, minutes=3, **own))
    assert (sent(model, "base"), done.patch, done.dropped) == (set(), "", ())


@pytest.mark.full
@pytest.mark.bwrap
@pytest.mark.parametrize(
    ("agent", "shown"),
    [
        ("claude-code", {"claude", "imported", "shared-offered"}),
        (
            "copilot",
            {"claude", "imported", "copilot", "applied", "octo-offered", "peer-offered", "shared-offered", "tool"},
        ),
    ],
)
@pytest.mark.timeout(900)
def test_servers_and_skills_of_another_format_are_laid_where_the_agent_looks(
    bwrap_backend: Backend, tmp_path: Path, agent: str, shown: set[str]
) -> None:
    here = repository(tmp_path / "here", marked("mine"))
    named = {
        "files": ["CLAUDE.md", "docs/**", "tools/*.py", ".github/**"],
        "mcp": ".mcp.json",
        "skills": ".agents/skills",
        "hooks": False,
    }
    with ScriptedModel(lambda turn: Say("ok") if turn.results else Run("ls /tmp/*-hook")) as model:
        spec = read_harness(agent_spec(agent, model, minutes=3, harness=named), here)
        done = attempt(bwrap_backend, spec)
    assert sent(model, "mine") == shown
    assert done.agent is not None
    assert {"CLAUDE.md", "MCP server own"} <= set(done.agent.used)


@pytest.mark.bwrap
@pytest.mark.full
@pytest.mark.timeout(900)
def test_aider_is_given_its_files_to_read(bwrap_backend: Backend, tmp_path: Path) -> None:
    here = repository(tmp_path / "here", marked("mine"))
    with ScriptedModel(fixing_by_blocks) as model:
        done = attempt(bwrap_backend, read_harness(agent_spec("aider", model, minutes=3, harness="."), here))
    assert apply_patch(PLAIN_TREE, done.patch) == {"src/pkg/maths.py": TreeFile(FIXED.encode())}
    # The base's program is a source file like any other, which no MCP server of its harness names.
    assert (sent(model, "mine"), sent(model, "base")) == ({"agents"}, {"tool", "result"})


# What is read of a repository.


def spec_of(harness: Any, agent: str = "claude-code") -> CandidateSpec:
    model = {"provider": "anthropic", "model": "claude-haiku-4-5-20251001"}
    return CandidateSpec.model_validate({"agent": agent, "version": "1.0.0", **model, "harness": harness})


def paths(spec: CandidateSpec) -> list[str]:
    assert spec.harness is not None
    return [file.path for file in spec.harness.laid or ()]


def test_what_git_ignores_is_no_part_of_a_harness_and_what_is_new_is(tmp_path: Path) -> None:
    files = {".gitignore": "*.local.*\n", "CLAUDE.md": "x", "src/CLAUDE.md": "y", "src/a.py": "x = 1\n"}
    here = repository(tmp_path / "r", files)
    for name in ("CLAUDE.local.md", ".claude/settings.local.json", ".claude/skills/new/SKILL.md"):
        (here / name).parent.mkdir(parents=True, exist_ok=True)
        (here / name).write_text("x")
    assert paths(read_harness(spec_of("."), here)) == [".claude/skills/new/SKILL.md", "CLAUDE.md", "src/CLAUDE.md"]


def test_what_the_users_own_git_ignores_is_no_part_of_a_harness(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Claude Code names its personal settings there, which may hold keys."""
    here, home = repository(tmp_path / "r", {"CLAUDE.md": "x"}), tmp_path / "home"
    (here / ".claude").mkdir()
    for name in ("settings.local.json", "settings.json"):
        (here / ".claude" / name).write_text("{}")
    (home / ".config/git").mkdir(parents=True)
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.delenv("XDG_CONFIG_HOME", raising=False)
    assert ".claude/settings.local.json" in paths(read_harness(spec_of("."), here))
    (home / ".config/git/ignore").write_text("**/.claude/settings.local.json\n")
    assert paths(read_harness(spec_of("."), here)) == [".claude/settings.json", "CLAUDE.md"]
    (home / ".gitconfig").write_text("[include]\n\tpath = own\n")
    (home / "own").write_text("[core]\n\texcludesFile = ~/ignored\n")
    (home / "ignored").write_text(".claude/\n")
    assert paths(read_harness(spec_of("."), here)) == ["CLAUDE.md"]
    (home / ".gitconfig").unlink()
    monkeypatch.setenv("XDG_CONFIG_HOME", f"/{'x' * 300}")
    assert ".claude/settings.json" in paths(read_harness(spec_of("."), here)), "a folder that cannot be read"


def test_a_harness_is_told_apart_by_paths_and_bytes_alone(tmp_path: Path) -> None:
    here = repository(tmp_path / "r", {"CLAUDE.md": "one\n", "other/CLAUDE.md": "one\n"})
    first = read_harness(spec_of({"files": ["CLAUDE.md"]}), here)
    assert read_harness(spec_of("other"), here).key() == first.key()
    (here / "CLAUDE.md").write_text("two\n")
    second = read_harness(spec_of({"files": ["CLAUDE.md"]}), here)
    assert second.key() != first.key() != spec_of(None).key()
    assert first.settings()["harness"] == "CLAUDE.md 2c8b08da"
    assert spec_of(None).settings()["harness"] == "none"


def test_a_link_inside_the_repository_is_followed_and_one_out_of_it_is_refused(tmp_path: Path) -> None:
    here = repository(tmp_path / "r", {"AGENTS.md": "one\n", "ai/skills/s/SKILL.md": "s\n", ".gitignore": ".env\n"})
    (here / "CLAUDE.md").symlink_to("AGENTS.md")
    (here / ".claude").mkdir()
    (here / ".claude/skills").symlink_to("../ai/skills")
    spec = read_harness(spec_of("."), here)
    assert paths(spec) == [".claude/skills/s/SKILL.md", "AGENTS.md", "CLAUDE.md"]
    assert spec.harness is not None
    assert spec.harness.laid is not None
    assert spec.harness.laid[-1].text == "one\n"
    (here / ".env").write_text("KEY=secret")
    (tmp_path / "secret").write_text("secret")
    absolute = os.fspath(here / "AGENTS.md")  # of no other checkout, such as the one in CI
    for target in ("../secret", ".env", ".git/config", "/etc/passwd", os.fspath(tmp_path), absolute):
        (here / "CLAUDE.md").unlink()
        (here / "CLAUDE.md").symlink_to(target)
        with pytest.raises(UsageError, match=r"'CLAUDE.md' is a link to what git does not have"):
            read_harness(spec_of("."), here)


def test_a_submodule_is_named_as_one(tmp_path: Path) -> None:
    here = repository(tmp_path / "r", {"CLAUDE.md": "one\n"})
    make_repository(here / ".claude/skills/shared", {"SKILL.md": b"s\n"})
    run_git(here, "-c", "advice.addEmbeddedRepo=false", "add", ".claude/skills/shared")
    with pytest.raises(UsageError, match=r"'\.claude/skills/shared' is a submodule, and is not read"):
        read_harness(spec_of("."), here)
    assert paths(read_harness(spec_of({"files": ["CLAUDE.md"]}), here)) == ["CLAUDE.md"]


def test_too_many_paths_through_links_are_refused_at_once(tmp_path: Path) -> None:
    """Each link to a folder repeats all of its files."""
    run_git(tmp_path, "init", "--quiet")
    for folder in ("real", "links"):
        (tmp_path / folder).mkdir()
    for number in range(1500):
        (tmp_path / f"real/{number}.md").touch()
        (tmp_path / f"links/{number}").symlink_to("../real")
    began = time.monotonic()
    with pytest.raises(UsageError, match=r"`harness`: over 100000 paths lead through symbolic links\."):
        read_harness(spec_of("."), tmp_path)
    assert time.monotonic() - began < 5


def test_what_a_file_imports_has_to_be_listed(tmp_path: Path) -> None:
    here = repository(
        tmp_path / "r", {"CLAUDE.md": "@docs/a.md, me@docs/b.md\n", "docs/a.md": "@b.md", "docs/b.md": "b"}
    )
    assert paths(read_harness(spec_of("."), here)) == ["CLAUDE.md", "docs/a.md"]
    with pytest.raises(UsageError, match=r"'CLAUDE.md' imports 'docs/a.md', which `files` does not list"):
        read_harness(spec_of({"files": ["CLAUDE.md"]}), here)
    assert paths(read_harness(spec_of({"files": ["CLAUDE.md", "docs"]}), here)) == [
        "CLAUDE.md",
        "docs/a.md",
        "docs/b.md",
    ]


@pytest.mark.parametrize(
    ("harness", "agent", "message"),
    [
        ({"files": ["NONE.md"]}, "claude-code", "its `harness` names 'NONE.md', and there is no such file"),
        ({"files": ["../r2/**"]}, "claude-code", "there is no such file"),
        ("../outside", "claude-code", "is no folder of the repository"),
        ("/tmp", "claude-code", "is no folder of the repository"),
        (".git", "claude-code", "is no folder of the repository"),
        ("outside", "claude-code", "is no folder of the repository"),
        (".", "mini-swe-agent", "mini-swe-agent reads no file of a repository by itself"),
        (
            {"mcp": "broken.json"},
            "claude-code",
            "'broken.json' is broken: broken.json is not usable JSON: Expecting "
            "property name enclosed in double quotes: line 1 column 2 (char 1). Correct it.",
        ),
        ({"files": ["huge.md"]}, "claude-code", "has over 1048576 bytes"),
    ],
)
def test_a_harness_that_cannot_be_read_is_a_usage_error(harness: Any, agent: str, message: str, tmp_path: Path) -> None:
    here = repository(tmp_path / "r", {"CLAUDE.md": "x", "broken.json": "{", "huge.md": "x" * (1 << 20) + "y"})
    (tmp_path / "outside").mkdir()
    (here / "outside").symlink_to("../outside")
    with pytest.raises(UsageError, match=re.escape(message)):
        read_harness(spec_of(harness, agent), here)
    with pytest.raises(UsageError, match=r"`harness` is read from git, and .* is in no repository"):
        read_harness(spec_of("."), tmp_path)


def test_a_configuration_below_the_top_names_the_whole_repository(tmp_path: Path) -> None:
    """Its own folder would be laid at the top of a problem's tree, without what stands above it."""
    here = repository(
        tmp_path / "r", {"AGENTS.md": "all\n", "services/api/CLAUDE.md": "api\n", "ci/terse/CLAUDE.md": "t"}
    )
    assert paths(read_harness(spec_of("../.."), here / "services/api")) == [
        "AGENTS.md", "ci/terse/CLAUDE.md", "services/api/CLAUDE.md",
    ]  # fmt: skip
    assert paths(read_harness(spec_of("terse"), here / "ci")) == ["CLAUDE.md"]
    with pytest.raises(UsageError, match=r"`harness: \.` is services/api; agents work at") as caught:
        read_harness(spec_of("."), here / "services/api")
    assert caught.value.remedy.startswith("Write `harness: ../..` (key `folder`) for")


# What is laid into a problem's tree.


def test_neither_the_fix_nor_tests_are_laid_with_a_harness(tmp_path: Path) -> None:
    files = {"CLAUDE.md": "x", "src/pkg/maths.py": FIXED, "src/pkg/run.py": "new\n", "tests/test_hidden.py": "secret\n"}
    files |= {"tests/test_maths.py": "secret too\n", "README.md": "new\n"}
    spec = read_harness(spec_of({"files": ["**"]}), repository(tmp_path / "r", files))
    laid = tree_with_harness(PLAIN_TREE, spec, small_problem())
    assert laid["src/pkg/maths.py"] == PLAIN_TREE["src/pkg/maths.py"]
    assert b"secret" not in b"".join(file.data for file in laid.values())
    assert laid["src/pkg/run.py"].data == laid["README.md"].data == b"new\n"


def test_a_file_that_the_tree_has_no_room_for_is_left_out() -> None:
    harness = Harness.model_validate(
        {"laid": [{"path": "docs/AGENTS.md", "text": "x"}, {"path": "src/AGENTS.md", "text": "x"}]}
    )
    tree = Tree({**PLAIN_TREE, "docs": TreeFile(b"a file")})
    laid = tree_with_harness(tree, spec_of(harness.model_dump()), small_problem())
    assert {path for path in laid if path.endswith("AGENTS.md")} == {"src/AGENTS.md"}


def test_a_problem_about_a_file_of_a_harness_keeps_it() -> None:
    problem = replace(small_problem(), fix=changes({".claude/hooks/check.py": "x = 2\n"}))
    tree = Tree({**PLAIN_TREE, ".claude/hooks/check.py": TreeFile(b"x = 1\n"), ".claude/hooks/other.py": TreeFile(b"")})
    laid = tree_with_harness(tree, spec_of(None), problem)
    assert {path for path in laid if path.startswith(".claude")} == {".claude/hooks/check.py"}


@pytest.mark.parametrize(
    ("pattern", "found"),
    [
        ("docs", {"docs/a.md", "docs/api/b.md"}),
        ("docs/*.md", {"docs/a.md"}),
        ("docs/**/*.md", {"docs/a.md", "docs/api/b.md"}),
        ("**/b*d", {"docs/api/b.md"}),
        ("**", {"a.md", "docs/a.md", "docs/api/b.md"}),
        ("*a*.*m*", {"a.md"}),
        ("docs/a.md/x", set()),
        ("*/" * 50 + "x", set()),
    ],
)
def test_a_pattern_names_files_and_what_lies_below_folders(pattern: str, found: set[str]) -> None:
    assert {path for path in ("a.md", "docs/a.md", "docs/api/b.md") if matches_any(path, [pattern])} == found


def test_a_hostile_pattern_or_file_costs_no_more_than_another(tmp_path: Path) -> None:
    assert not matches_any("a" * 4000, ["*a" * 90 + "b"])
    began = time.process_time()
    assert not matches_any("a" * 4000, ["*a" * 500_000])  # a megabyte, as much as a file may have
    assert time.process_time() - began < 5
    deep = {".codex/config.toml": "a." * 3000 + "command = 'x'\n", "opencode.json": "[" * 5000}
    here = repository(tmp_path / "r", deep)
    assert paths(read_harness(spec_of(".", "codex"), here)) == [".codex/config.toml"]
    with pytest.raises(UsageError, match=r"'opencode.json' is broken"):
        read_harness(spec_of(".", "opencode"), here)
