"""OpenCode. It tries for ever where its model cannot be reached: the attempt's limit of time ends it."""

import json

from codegate.candidates.agents.contract import HOME, MODULES, Agent, Start, Task


class OpenCode(Agent):
    """One program, of the package for this kind of machine."""

    name = "opencode"
    registry = "npm"
    package = "opencode-ai"
    tried = "1.18.33"
    protocols = ("chat",)
    leaves = (".opencode",)

    def start(self, task: Task) -> Start:
        """See ``Agent.start``. A configuration in the tree is not read: it could name another address."""
        model = {task.model: {"name": task.model, "limit": {"context": 200_000, "output": 32_000}}}
        options = {"baseURL": f"{task.address}/v1", "apiKey": task.key}
        provider = {"npm": "@ai-sdk/openai-compatible", "name": "gateway", "options": options, "models": model}
        settings = {
            "autoupdate": False,
            "share": "disabled",
            "model": f"gateway/{task.model}",
            "small_model": f"gateway/{task.model}",
            "enabled_providers": ["gateway"],
            "permission": {"*": "allow"},
            "provider": {"gateway": provider},
        }
        off = ("PROJECT_CONFIG", "AUTOUPDATE", "MODELS_FETCH", "LSP_DOWNLOAD", "DEFAULT_PLUGINS", "SHARE")
        return Start(
            (f"{MODULES}/opencode-linux-*/bin/opencode", "run", "--pure", "--format", "json", task.prompt),
            {"OPENCODE_CONFIG": f"{HOME}/opencode.json", **{f"OPENCODE_DISABLE_{name}": "1" for name in off}},
            {"opencode.json": json.dumps(settings)},
        )
