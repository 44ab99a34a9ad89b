"""Anthropic's Claude Code. Its exit status is no verdict: 0 was seen without any edit."""

from codegate.candidates.agents.contract import MODULES, Agent, Start, Task


class ClaudeCode(Agent):
    """One program, of the package for this kind of machine; its install script only links it."""

    name = "claude-code"
    registry = "npm"
    package = "@anthropic-ai/claude-code"
    tried = "2.1.330"
    protocols = ("messages",)
    leaves = (".claude", ".claude.json")

    def start(self, task: Task) -> Start:
        """See ``Agent.start``. Settings in the tree are not read: they could name another address, or run hooks."""
        return Start(
            (
                f"{MODULES}/@anthropic-ai/claude-code-linux-*/claude", "-p", task.prompt,
                "--output-format", "stream-json", "--verbose", "--dangerously-skip-permissions",
                "--strict-mcp-config", "--setting-sources", "user",
            ),
            {
                "ANTHROPIC_BASE_URL": task.address,
                "ANTHROPIC_API_KEY": task.key,
                "ANTHROPIC_MODEL": task.model,
                "ANTHROPIC_SMALL_FAST_MODEL": task.model,
                "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
                "CLAUDE_CODE_MAX_RETRIES": "1",
                "DISABLE_AUTOUPDATER": "1",
            },
        )  # fmt: skip
