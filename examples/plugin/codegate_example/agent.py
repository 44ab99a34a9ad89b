"""An agent: a program that asks its model once, and writes the answer into the file that the answer names.

One that lives in a registry names it and its package, which codegate installs; this one is a text of a few lines.
"""

from codegate.candidates.agents.contract import HOME, Agent, Start, Task

_PROGRAM = """
import json, os, pathlib, sys, urllib.request
asked = {"model": sys.argv[1], "messages": [{"role": "user", "content": sys.argv[2]}]}
headers = {"Content-Type": "application/json", "Authorization": "Bearer " + os.environ["OPENAI_API_KEY"]}
address = os.environ["OPENAI_BASE_URL"] + "/chat/completions"
request = urllib.request.Request(address, json.dumps(asked).encode(), headers)
answer = json.load(urllib.request.urlopen(request))["choices"][0]["message"]["content"]
path, _, text = answer.partition("\\n")
pathlib.Path(path).write_text(text)
"""


class Once(Agent):
    """Asks once, and writes one file."""

    name = "once"
    registry = None
    tried = "1"

    def start(self, task: Task) -> Start:
        """See ``Agent.start``."""
        command = ("{python}", f"{HOME}/once.py", task.model, task.prompt)
        return Start(command, task.sdk_variables, {"once.py": _PROGRAM})


AGENT = Once()
