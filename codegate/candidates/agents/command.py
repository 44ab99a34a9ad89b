"""Any program as an agent: it works on the tree that it is started in, and its model is where a variable says."""

from collections.abc import Sequence

from codegate.candidates.agents.contract import Agent, Start, Task


class OwnCommand(Agent):
    """The candidate's own command. ``{prompt}``, ``{model}`` and ``{address}`` in its arguments are replaced."""

    name = "command"
    registry = None
    protocols = ("chat", "responses", "messages")

    def __init__(self, command: Sequence[str] = ()) -> None:
        self._command = tuple(command)

    def start(self, task: Task) -> Start:
        """See ``Agent.start``. Clients of both SDKs find the gateway without further settings."""
        values = {"{prompt}": task.prompt, "{model}": task.model, "{address}": task.address}

        def filled(argument: str) -> str:
            for name, value in values.items():
                argument = argument.replace(name, value)
            return argument

        return Start(
            tuple(filled(argument) for argument in self._command),
            {
                "OPENAI_BASE_URL": f"{task.address}/v1",
                "OPENAI_API_BASE": f"{task.address}/v1",
                "OPENAI_API_KEY": task.key,
                "ANTHROPIC_BASE_URL": task.address,
                "ANTHROPIC_API_KEY": task.key,
                "CODEGATE_MODEL": task.model,
                "CODEGATE_PROMPT": task.prompt,
            },
        )
