"""Anthropic's Claude Code.

Its exit status does not show success: it has been 0 without any edit.
"""

import contextlib
import json
import re
from collections.abc import Iterator

from typing_extensions import override

from codegate.candidates.agents.contract import MODULES, Agent, Start, Task, events_of
from codegate.candidates.harness import Harness

_SMALL = ("SMALL_FAST", "DEFAULT_HAIKU")
_SHOWN = (
    "SessionStart", "UserPromptSubmit", "PreToolUse", "PostToolUse", "PostToolUseFailure", "PostToolBatch",
    "SubagentStart", "SubagentStop", "Stop",
)  # fmt: skip
"""Events whose hook runs are in the output. Hooks of other events, such as SessionEnd, leave no trace in it."""
_BLOCKS = 2
"""Exit code of a working hook that blocks the agent's action."""


def _numbers(version: str) -> list[int]:
    return [int(number) for number in re.findall(r"\d+", version)]


class ClaudeCode(Agent):
    """Claude Code: a single program in npm's package per platform."""

    name = "claude-code"
    registry = "npm"
    package = "@anthropic-ai/claude-code"
    tried = "2.1.330"
    protocols = ("messages",)
    leaves = (".claude", ".claude.json")
    roles = ("small", "subagent")
    includes_paths = True
    places = {
        "CLAUDE.md": "instructions", "AGENTS.md": "instructions", ".claude/rules/": "instructions",
        ".claude/skills/": "skill", ".claude/agents/": "sub-agent", ".claude/commands/": "command",
        ".mcp.json": "servers", ".claude/": "settings", "CLAUDE.local.md": "settings",
    }  # fmt: skip

    def start(self, task: Task) -> Start:
        """Return the command that starts Claude Code on ``task``.

        ``--settings`` overrides the tree's settings, which could name another address or key.
        """
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
            more += ["--include-hook-events"] if self.hooks(harness, task.version) else []
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

    def hooks(self, harness: Harness, version: str | None) -> tuple[str, ...]:
        """Return the hook events that Claude Code's output reports.

        Versions before the one in ``tried`` are started without ``--include-hook-events`` and report none.
        """
        if _numbers(version or "") < _numbers(self.tried):
            return ()
        file, found = harness.file(".claude/settings.json"), None
        with contextlib.suppress(ValueError, RecursionError, AttributeError):
            found = json.loads(file.text).get("hooks") if file is not None and harness.hooks else None
        return tuple(event for event in _SHOWN if isinstance(found, dict) and found.get(event))

    @override
    def hook_runs(self, output: bytes) -> Iterator[tuple[str, str]]:
        for event in events_of(output):
            if event.get("subtype") == "hook_response":
                code, printed = event.get("exit_code"), " ".join(str(event.get("stderr")).split())
                worked = event.get("outcome") == "success" or code == _BLOCKS
                yield str(event.get("hook_event")), "" if worked else f"exit code {code}: {printed}"
