"""The agent mini-swe-agent, which calls its model through LiteLLM."""

from typing_extensions import override

from codegate.candidates.agents.contract import HOME, PYTHON_MODULE, Agent, Start, Task

LITELLM = {"LITELLM_LOCAL_MODEL_COST_MAP": "True", "LITELLM_TELEMETRY": "False"}


class MiniSweAgent(Agent):
    """mini-swe-agent: a hundred lines of Python around a shell."""

    name = "mini-swe-agent"
    registry = "pypi"
    package = "mini-swe-agent"
    tried = "2.4.6"
    protocols = ("chat",)
    # The version of LiteLLM that is installed with it cannot make calls without `mcp`.
    beside = ("mcp",)
    least_python = 10

    @override
    def start(self, task: Task) -> Start:
        return Start(
            (
                *PYTHON_MODULE, "minisweagent.run.mini", "-m", f"openai/{task.model}", "-t", task.prompt,
                "--yolo", "--exit-immediately", "-o", f"{HOME}/trajectory.json",
            ),
            {
                **LITELLM,
                "MSWEA_CONFIGURED": "true",
                "MSWEA_SILENT_STARTUP": "1",
                "MSWEA_GLOBAL_CONFIG_DIR": f"{HOME}/mini",
                "MSWEA_COST_TRACKING": "ignore_errors",
                "MSWEA_MODEL_RETRY_STOP_AFTER_ATTEMPT": "2",
                "OPENAI_API_BASE": f"{task.address}/v1",
                "OPENAI_API_KEY": task.key,
            },
        )  # fmt: skip
