"""A coding agent in a few lines: it gives AGENTS.md to its model, and runs the commands that the model asks for."""

import http.client
import json
import os
import pathlib
import subprocess
import urllib.parse

instructions = pathlib.Path("AGENTS.md")
said = instructions.read_text() if instructions.exists() else "You are an engineer."
shell = {"type": "object", "properties": {"command": {"type": "string"}}}
tools = [{"type": "function", "function": {"name": "shell", "parameters": shell}}]
messages = [{"role": "system", "content": said}, {"role": "user", "content": os.environ["CODEGATE_PROMPT"]}]
while True:
    asked = {"model": os.environ["CODEGATE_MODEL"], "messages": messages, "tools": tools}
    gateway = http.client.HTTPConnection(urllib.parse.urlsplit(os.environ["OPENAI_BASE_URL"]).netloc)
    gateway.request("POST", "/v1/chat/completions", json.dumps(asked))
    message = json.load(gateway.getresponse())["choices"][0]["message"]
    messages.append(message)
    if not message.get("tool_calls"):
        break
    for call in message["tool_calls"]:
        command = json.loads(call["function"]["arguments"])["command"]
        done = subprocess.run(["sh", "-c", command], check=False, capture_output=True, text=True)
        messages.append({"role": "tool", "tool_call_id": call["id"], "content": done.stdout + done.stderr})
