"""OpenAI's Codex.

It accepts answers as server-sent events only, and reads standard input to its end.
"""

import json
from typing import Any

from codegate.candidates.agents.contract import HOME, MODULES, WORKSPACE, Agent, Start, Task, events_of
from codegate.candidates.harness import part_of

_HOOKS = "--dangerously-bypass-hook-trust"  # Codex warns of this flag, which codegate sets


class Codex(Agent):
    """OpenAI's Codex: one static program, from npm."""

    name = "codex"
    registry = "npm"
    package = "@openai/codex"
    tried = "0.169.0"
    protocols = ("responses",)
    leaves = (".codex",)
    places = {
        "AGENTS.md": "instructions", "AGENTS.override.md": "instructions", ".agents/skills/": "skill",
        ".codex/skills/": "skill", ".codex/agents/": "sub-agent", ".codex/config.toml": "servers",
        ".codex/": "settings",
    }  # fmt: skip

    def start(self, task: Task) -> Start:
        """Return the command that starts Codex on ``task``.

        Codex's own sandbox is off, because Codex runs in ours. ``-c`` overrides the tree's settings.
        """
        gateway = f"""{{ name = "gateway", base_url = {json.dumps(task.address + "/v1")}, env_key = "GATEWAY_KEY", \
wire_api = "responses", supports_websockets = false, request_max_retries = 1, stream_max_retries = 1, \
stream_idle_timeout_ms = 3600000 }}"""
        settings = [
            f"model = {json.dumps(task.model)}",
            'model_provider = "gateway"',
            'approval_policy = "never"',
            'sandbox_mode = "danger-full-access"',
            "check_for_update_on_startup = false",
            'web_search = "disabled"',
            "analytics = { enabled = false }",
            "feedback = { enabled = false }",
            'history = { persistence = "none" }',
            'otel = { exporter = "none", metrics_exporter = "none" }',
            f"model_providers.gateway = {gateway}",
        ]
        trust, more, servers = "untrusted", list[str](), ""
        if (harness := task.harness) is None:
            settings.append("project_doc_max_bytes = 0")
        else:
            trust = "trusted"
            own = any(part_of(file.path, self.places) == "settings" for file in harness.laid or ())
            more = [_HOOKS] if harness.hooks and own else []
            if harness.mcp is not None and (named := harness.file(harness.mcp)) is not None:
                for name, server in self.servers(harness.mcp, named.text).items():
                    if "command" in server:  # a remote server has no command
                        kept = {key: server[key] for key in ("command", "args", "env") if key in server}
                        servers += f"mcp_servers.{_toml(name)} = {_toml(kept)}\n"
        return Start(
            (
                f"{MODULES}/@openai/codex-linux-*/vendor/*/bin/codex", "exec", "--json", "--ephemeral",
                "--skip-git-repo-check", "--dangerously-bypass-approvals-and-sandbox", "--disable", "plugins",
                "--disable", "apps", *more, *(word for setting in settings for word in ("-c", setting)), task.prompt,
            ),
            {"CODEX_HOME": f"{HOME}/.codex", "GATEWAY_KEY": task.key},
            {".codex/config.toml": f'{servers}[projects."{WORKSPACE}"]\ntrust_level = "{trust}"\n'},
        )  # fmt: skip

    def warnings(self, output: bytes) -> tuple[str, ...]:
        """Return the messages of ``error`` items in Codex's events."""
        items = [event.get("item") for event in events_of(output)]
        errors = [str(item.get("message")) for item in items if isinstance(item, dict) and item.get("type") == "error"]
        return tuple(message for message in errors if _HOOKS not in message)


def _toml(value: Any) -> str:
    if isinstance(value, dict):
        return "{ " + ", ".join(f"{_toml(name)} = {_toml(one)}" for name, one in value.items()) + " }"
    return (
        "[" + ", ".join(map(_toml, value)) + "]" if isinstance(value, list) else json.dumps(value, ensure_ascii=False)
    )
