"""Runs in the sandbox: LangGraph's prebuilt agent with one tool, a shell in the current folder."""

import subprocess
import sys

from langchain.agents import create_agent
from langchain_core.tools import tool


@tool
def bash(command: str) -> str:
    """Run a command in a shell, in the folder of the repository, and return its output."""
    done = subprocess.run(["bash", "-c", command], check=False, capture_output=True, text=True, timeout=300)
    return f"exit status {done.returncode}\n{done.stdout[-20000:]}{done.stderr[-20000:]}"


def main() -> None:
    model, protocol, prompt = sys.argv[1:]
    if protocol == "messages":
        from langchain_anthropic import ChatAnthropic

        chat = ChatAnthropic(model=model, max_tokens=16000, max_retries=1)
    else:
        from langchain_openai import ChatOpenAI

        chat = ChatOpenAI(model=model, max_retries=1)
    agent = create_agent(chat, tools=[bash])
    result = agent.invoke({"messages": [("user", prompt)]}, {"recursion_limit": 2000})
    print(result["messages"][-1].text)


main()
