"""The agent aider.

It edits the files that it is given, or that its model asks for. Its exit status is 0 even if a model call failed.
"""

from codegate.candidates.agents.contract import HOME, PYTHON_MODULE, Agent, Start, Task
from codegate.candidates.agents.mini_swe_agent import LITELLM


class Aider(Agent):
    """aider: a Python program that edits files without a shell."""

    name = "aider"
    registry = "pypi"
    package = "aider-chat"
    tried = "0.86.2"
    protocols = ("chat",)
    least_python = 10
    places = {"CONVENTIONS.md": "instructions", "AGENTS.md": "instructions"}
    leaves = (".aider.chat.history.md", ".aider.input.history", ".aider.tags.cache.v4")

    def start(self, task: Task) -> Start:
        """Return the command that starts Aider on ``task``.

        The command line sets the model's address, because the tree's settings could name another one.
        """
        read = [one.path for one in task.harness.laid or ()] if task.harness is not None else []
        return Start(
            (
                *PYTHON_MODULE, "aider", "--model", f"openai/{task.model}",
                "--openai-api-base", f"{task.address}/v1", "--env-file", "/dev/null", "--config", f"{HOME}/aider.yml",
                "--edit-format", "diff", "--message", task.prompt, "--yes-always", "--no-git",
                "--analytics-disable", "--no-check-update", "--no-show-release-notes",
                "--no-show-model-warnings", "--no-pretty", "--no-fancy-input", "--map-tokens", "0",
                "--no-detect-urls", "--no-gitignore", "--chat-history-file", f"{HOME}/chat.md",
                "--input-history-file", f"{HOME}/input.txt",
                *(word for path in read for word in ("--read", path)), *task.files,
            ),
            {**LITELLM, "OPENAI_API_KEY": task.key},
            {"aider.yml": "check-update: false\n"},
        )  # fmt: skip
