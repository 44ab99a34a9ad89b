"""The agent OpenCode.

It retries without end if its model cannot be reached; the attempt's time limit ends it.
"""

import contextlib
import json
from collections.abc import Iterable
from typing import Any

from codegate.candidates.agents.contract import MODULES, Agent, Start, Task


class OpenCode(Agent):
    """OpenCode: one program, from npm's package for the platform."""

    name = "opencode"
    registry = "npm"
    package = "opencode-ai"
    tried = "1.18.33"
    protocols = ("chat",)
    leaves = (".opencode",)
    roles = ("small",)
    places = {
        "AGENTS.md": "instructions", "CLAUDE.md": "instructions",
        ".agents/skills/": "skill", ".claude/skills/": "skill",
        ".opencode/skill/": "skill", ".opencode/skills/": "skill", ".opencode/agent/": "sub-agent",
        ".opencode/agents/": "sub-agent", ".opencode/command/": "command", ".opencode/commands/": "command",
        "opencode.json": "servers", "opencode.jsonc": "settings", ".opencode/": "settings",
    }  # fmt: skip
    server_tools = r"{}_[\w-]+"

    def start(self, task: Task) -> Start:
        """Return the command that starts OpenCode on ``task``.

        ``OPENCODE_CONFIG_CONTENT`` overrides the tree's configuration, which could name another address or key.
        """
        small = task.model_of("small")
        limit = {"context": 200_000, "output": 32_000}
        known = {model: {"name": model, "limit": limit} for model in (task.model, small)}
        options = {"baseURL": f"{task.address}/v1", "apiKey": task.key}
        provider = {"npm": "@ai-sdk/openai-compatible", "name": "gateway", "options": options, "models": known}
        settings: dict[str, Any] = {
            "autoupdate": False,
            "share": "disabled",
            "model": f"gateway/{task.model}",
            "small_model": f"gateway/{small}",
            "enabled_providers": ["gateway"],
            "permission": {"*": "allow"},
            "provider": {"gateway": provider},
        }
        off = ["AUTOUPDATE", "MODELS_FETCH", "LSP_DOWNLOAD", "DEFAULT_PLUGINS", "SHARE"]
        harness = task.harness
        if harness is None:
            off.append("PROJECT_CONFIG")
        elif harness.mcp is not None and (named := harness.file(harness.mcp)) is not None:
            settings["mcp"] = {
                name: {
                    "type": "local",
                    "command": [server.get("command", ""), *server.get("args", [])],
                    "environment": server.get("env", {}),
                }
                for name, server in self.servers(harness.mcp, named.text).items()
                if "command" in server
            }
        pure = [] if harness is not None and harness.hooks else ["--pure"]
        return Start(
            (f"{MODULES}/opencode-linux-*/bin/opencode", "run", *pure, "--format", "json", task.prompt),
            {"OPENCODE_CONFIG_CONTENT": json.dumps(settings), **{f"OPENCODE_DISABLE_{name}": "1" for name in off}},
        )

    def imports(self, path: str, text: str) -> Iterable[str]:
        """Yield patterns of the files that a harness file needs.

        The ``instructions`` of a configuration file are among them.
        """
        yield from super().imports(path, text)
        listed = None
        with contextlib.suppress(ValueError, RecursionError, AttributeError):
            listed = json.loads(text).get("instructions") if path.endswith("opencode.json") else None
        yield from (one for one in listed if isinstance(one, str)) if isinstance(listed, list) else ()
