"""An agent that calls its model once and writes a file.

The answer's first line is the file's path, the rest its content. An agent from npm or PyPI names its registry and its
package, and codegate installs it; this one is a program of a few lines.
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
    """Calls its model once, and writes one file."""

    name = "once"
    registry = None
    tried = "1"

    def start(self, task: Task) -> Start:
        """See ``Agent.start``."""
        command = ("{python}", f"{HOME}/once.py", task.model, task.prompt)
        return Start(command, task.sdk_variables, {"once.py": _PROGRAM})


AGENT = Once()
