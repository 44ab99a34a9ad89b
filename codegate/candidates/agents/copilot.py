"""GitHub's Copilot CLI.

It gets a model provider from codegate, so it needs no GitHub account and stays offline.
"""

from codegate.candidates.agents.contract import HOME, MODULES, Agent, Start, Task

#: Type of the provider and format of its calls, by protocol.
_WIRES = {"responses": ("openai", "responses"), "chat": ("openai", "completions"), "messages": ("anthropic", "")}


class Copilot(Agent):
    """Copilot CLI: one program, from npm's package for the platform."""

    name = "copilot"
    registry = "npm"
    package = "@github/copilot"
    tried = "1.0.102"
    protocols = ("responses", "messages", "chat")
    leaves = (".copilot",)
    places = {
        "AGENTS.md": "instructions", "CLAUDE.md": "instructions", "GEMINI.md": "instructions",
        ".github/copilot-instructions.md": "instructions", ".github/instructions/": "instructions",
        ".github/skills/": "skill", ".agents/skills/": "skill", ".claude/skills/": "skill",
        ".github/agents/": "sub-agent", ".mcp.json": "servers", ".github/mcp.json": "servers",
        ".github/hooks/": "settings", ".github/copilot/": "settings",
    }  # fmt: skip
    hooks_in_settings = True
    includes_paths = True
    server_tools = r"{}-[\w-]+"

    def start(self, task: Task) -> Start:
        """Return the command that starts Copilot on ``task``.

        Variables override the tree's settings, which could name another address, key or model.
        """
        kind, wire = _WIRES[task.protocol]
        more = ["--no-custom-instructions"]
        if task.harness is not None:
            more = ["--trust-folder"]
            if task.harness.mcp is not None and task.harness.file(task.harness.mcp) is not None:
                more += ["--additional-mcp-config", f"@{task.harness.mcp}"]
        return Start(
            (
                f"{MODULES}/@github/copilot-linux-*/copilot", "-p", task.prompt, "--allow-all", "--no-ask-user",
                "--no-auto-update", "--no-remote", "--disable-builtin-mcps", "--output-format", "json", *more,
            ),
            {
                "COPILOT_OFFLINE": "true",
                "COPILOT_HOME": f"{HOME}/.copilot",
                "COPILOT_PROVIDER_TYPE": kind,
                "COPILOT_PROVIDER_BASE_URL": task.address if kind == "anthropic" else f"{task.address}/v1",
                "COPILOT_PROVIDER_API_KEY": task.key,
                "COPILOT_MODEL": task.model,
                **({"COPILOT_PROVIDER_WIRE_API": wire} if wire else {}),
            },
        )  # fmt: skip
