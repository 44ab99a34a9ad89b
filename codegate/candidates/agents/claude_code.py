"""Anthropic's Claude Code. Its exit status is no verdict: 0 was seen without any edit."""

import json
from collections.abc import Iterable

from codegate.candidates.agents.contract import MODULES, Agent, Start, Task, imported_texts

_SMALL = ("SMALL_FAST", "DEFAULT_HAIKU")


class ClaudeCode(Agent):
    """One program, of the package for this kind of machine; its install script only links it."""

    name = "claude-code"
    registry = "npm"
    package = "@anthropic-ai/claude-code"
    tried = "2.1.330"
    protocols = ("messages",)
    leaves = (".claude", ".claude.json")
    roles = ("small", "subagent")
    places = {
        "CLAUDE.md": "instructions", "AGENTS.md": "instructions", ".claude/rules/": "instructions",
        ".claude/skills/": "skill", ".claude/agents/": "sub-agent", ".claude/commands/": "command",
        ".mcp.json": "servers", ".claude/": "settings", "CLAUDE.local.md": "settings",
    }  # fmt: skip

    def start(self, task: Task) -> Start:
        """See ``Agent.start``. What is in ``--settings`` wins over the tree's settings: address and key are ours."""
        environment = {
            "ANTHROPIC_BASE_URL": task.address,
            "ANTHROPIC_API_KEY": task.key,
            "ANTHROPIC_MODEL": task.model,
            **{f"ANTHROPIC_{name}_MODEL": task.model_of("small") for name in _SMALL},
            **{f"ANTHROPIC_DEFAULT_{name}_MODEL": task.model for name in ("SONNET", "OPUS")},
            **({"CLAUDE_CODE_SUBAGENT_MODEL": helper} if (helper := task.model_of("subagent")) != task.model else {}),
            "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
            "CLAUDE_CODE_MAX_RETRIES": "1",
            "DISABLE_AUTOUPDATER": "1",
        }
        sources, more = "user", list[str]()
        if (harness := task.harness) is not None:
            own = {"env": environment, "model": task.model, "apiKeyHelper": "", "disableAllHooks": not harness.hooks}
            sources, more = "user,project", ["--settings", json.dumps(own)]
            if harness.file(servers := harness.mcp or ".mcp.json") is not None:
                more += ["--mcp-config", servers]
        return Start(
            (
                f"{MODULES}/@anthropic-ai/claude-code-linux-*/claude", "-p", task.prompt,
                "--output-format", "stream-json", "--verbose", "--dangerously-skip-permissions",
                "--strict-mcp-config", "--setting-sources", sources, *more,
            ),
            environment,
        )  # fmt: skip

    def imports(self, path: str, text: str) -> Iterable[str]:
        """See ``Agent.imports``: instructions take in ``@path``."""
        yield from super().imports(path, text)
        yield from imported_texts(path, text)
