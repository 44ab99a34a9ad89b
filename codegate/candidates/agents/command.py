"""An agent that is any program of the user's.

It works in its current folder; environment variables name its model, the address and the key.
"""

from collections.abc import Mapping, Sequence

from codegate.candidates.agents.contract import HOME, PYTHON_MODULE, SITE, Agent, Start, Task

_FOLDER = "files"


class OwnCommand(Agent):
    """The command that a candidate configures as its agent.

    The placeholders ``{prompt}``, ``{model}``, ``{address}`` and ``{files}`` in its arguments are replaced.

    Args:
        command: program and arguments.
        files: texts by name, written to the folder ``{files}``.
        packages: whether ``{python}`` can import the agent's installed packages.
    """

    name = "command"
    registry = None
    protocols = ("chat", "responses", "messages")
    places = {"AGENTS.md": "instructions", ".agents/skills/": "skill"}

    def __init__(
        self, command: Sequence[str] = (), files: Mapping[str, str] | None = None, *, packages: bool = False
    ) -> None:
        self._command = _with_packages(tuple(command)) if packages else tuple(command)
        self._files = {f"{_FOLDER}/{name}": text for name, text in (files or {}).items()}

    def start(self, task: Task) -> Start:
        """Return the command, with variables for OpenAI's and Anthropic's SDKs."""
        values = {
            "{prompt}": task.prompt, "{model}": task.model, "{address}": task.address, "{files}": f"{HOME}/{_FOLDER}",
        }  # fmt: skip

        def filled(argument: str) -> str:
            for name, value in values.items():
                argument = argument.replace(name, value)
            return argument

        return Start(
            tuple(filled(argument) for argument in self._command),
            {
                **task.sdk_variables,
                "OPENAI_API_BASE": f"{task.address}/v1",
                "CODEGATE_MODEL": task.model,
                "CODEGATE_PROMPT": task.prompt,
            },
            self._files,
        )


def _with_packages(command: tuple[str, ...]) -> tuple[str, ...]:
    """Return a command whose ``{python}`` can import the agent's packages.

    Other programs that the command starts cannot import them.
    """
    match command:
        case ("{python}", "-m", *arguments):
            return (*PYTHON_MODULE, *arguments)
        case ("{python}", "-c", code, *arguments):
            return ("{python}", "-I", "-c", f"import sys; sys.path.insert(0, {SITE})\n{code}", *arguments)
        case ("{python}", *arguments):
            beside = f"import os, runpy, sys; sys.path[:0] = [os.path.dirname(sys.argv[1]), {SITE}]"
            run = "sys.argv = sys.argv[1:]; runpy.run_path(sys.argv[0], run_name='__main__')"
            return ("{python}", "-I", "-c", f"{beside}; {run}", *arguments)
    return command
