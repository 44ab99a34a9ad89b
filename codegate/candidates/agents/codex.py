"""OpenAI's Codex. It takes answers as server-sent events only, and reads standard input to its end."""

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
        """See ``Agent.start``. It has a sandbox of its own, which is off: it is in ours."""
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
