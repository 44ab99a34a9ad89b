"""OpenAI's Codex. It takes answers as server-sent events only, and reads standard input to its end."""

import contextlib
import json

from codegate.candidates.agents.contract import HOME, MODULES, Agent, Start, Task


class Codex(Agent):
    """One static program, of the package for this kind of machine."""

    name = "codex"
    registry = "npm"
    package = "@openai/codex"
    tried = "0.169.0"
    protocols = ("responses",)
    leaves = (".codex",)

    def start(self, task: Task) -> Start:
        """See ``Agent.start``. Its own sandbox is off: it is in ours. It reads no AGENTS.md, as no agent here does."""
        settings = f"""\
model = {json.dumps(task.model)}
model_provider = "gateway"
approval_policy = "never"
sandbox_mode = "danger-full-access"
check_for_update_on_startup = false
web_search = "disabled"
analytics = {{ enabled = false }}
feedback = {{ enabled = false }}
history = {{ persistence = "none" }}
project_doc_max_bytes = 0
otel = {{ exporter = "none", metrics_exporter = "none" }}
[model_providers.gateway]
name = "gateway"
base_url = {json.dumps(task.address + "/v1")}
env_key = "GATEWAY_KEY"
wire_api = "responses"
supports_websockets = false
request_max_retries = 1
stream_max_retries = 1
stream_idle_timeout_ms = 3600000
"""
        return Start(
            (
                f"{MODULES}/@openai/codex-linux-*/vendor/*/bin/codex", "exec", "--json", "--ephemeral",
                "--skip-git-repo-check", "--dangerously-bypass-approvals-and-sandbox", "--disable", "plugins",
                "--disable", "apps", task.prompt,
            ),
            {"CODEX_HOME": f"{HOME}/.codex", "GATEWAY_KEY": task.key},
            {".codex/config.toml": settings},
        )  # fmt: skip

    def warnings(self, output: bytes) -> tuple[str, ...]:
        """See ``Agent.warnings``: among its events, one a line, are items of type ``error``."""
        found = []
        for line in output.splitlines():
            with contextlib.suppress(ValueError, RecursionError):
                event = json.loads(line)
                item = event.get("item") if isinstance(event, dict) else None
                if isinstance(item, dict) and item.get("type") == "error":
                    found.append(str(item.get("message")))
        return tuple(found)
