"""Runs in the sandbox: an agent of OpenAI's Agents SDK with one tool, a shell in the current folder."""

import subprocess
import sys

from agents import Agent, OpenAIChatCompletionsModel, OpenAIResponsesModel, Runner, function_tool
from openai import AsyncOpenAI


@function_tool
def bash(command: str) -> str:
    """Run a command in a shell, in the folder of the repository, and return its output."""
    done = subprocess.run(["bash", "-c", command], check=False, capture_output=True, text=True, timeout=300)
    return f"exit status {done.returncode}\n{done.stdout[-20000:]}{done.stderr[-20000:]}"


def main() -> None:
    model, protocol, prompt = sys.argv[1:]
    client = AsyncOpenAI(max_retries=1)
    kind = OpenAIResponsesModel if protocol == "responses" else OpenAIChatCompletionsModel
    agent = Agent(name="engineer", tools=[bash], model=kind(model=model, openai_client=client))
    print(Runner.run_sync(agent, prompt, max_turns=1000).final_output)


main()
