"""Agents that are libraries, each started by a short program.

The program, which is part of codegate, gives the agent the task and a shell in the tree.
"""

from importlib import resources

from codegate.candidates.agents.contract import HOME, PYTHON_FILE, Agent, Start, Task


class _Library(Agent):
    registry = "pypi"
    least_python = 10
    program: str

    def start(self, task: Task) -> Start:
        text = resources.files("codegate.candidates.agents").joinpath(self.program).read_text(encoding="utf-8")
        return Start(
            (*PYTHON_FILE, f"{HOME}/agent.py", task.model, task.protocol, task.prompt),
            {**task.sdk_variables, "OPENAI_AGENTS_DISABLE_TRACING": "1"},
            {"agent.py": text},
        )


class OpenAIAgents(_Library):
    """OpenAI's Agents SDK."""

    name = "openai-agents"
    package = "openai-agents"
    tried = "0.24.0"
    protocols = ("responses", "chat")
    program = "openai_agents_program.py"


class LangGraph(_Library):
    """LangGraph's prebuilt agent."""

    name = "langgraph"
    package = "langgraph"
    tried = "1.2.22"
    protocols = ("chat", "messages")
    beside = ("langchain", "langchain-openai", "langchain-anthropic")
    program = "langgraph_program.py"
