"""The tutorial is run as it stands: every command of the page in one shell, with the output that the page shows."""

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.kit.http import Server, as_json
from tests.kit.model_server import chat_answer

PAGE = Path(__file__).resolve().parents[2] / "docs" / "tutorial.md"
MARK = "@@ the next command @@"


def steps(page: str) -> Iterator[tuple[str, str]]:
    """Yield each command of the page with the output that is shown below it."""
    for block in re.findall(r"^```console\n(.*?)^```$", page, re.MULTILINE | re.DOTALL):
        for step in block.split("$ ")[1:]:
            command, _, shown = step.partition("\n")
            yield command, shown.strip()


def as_shown(shown: str, printed: str) -> bool:
    """Return whether the output is as shown, where ``...`` stands for anything."""
    pattern = ".*".join(re.escape(part.strip()) for part in shown.split("..."))
    return re.fullmatch(rf"\s*{pattern}\s*", printed, re.DOTALL) is not None


@pytest.mark.full
@pytest.mark.timeout(1500)
def test_every_command_prints_what_the_page_shows(tmp_path: Path) -> None:
    server = Server(lambda request: as_json(chat_answer(model="my-model-2026-01-01")))
    commands = [
        (command.replace("http://127.0.0.1:8080", server.url), shown) for command, shown in steps(PAGE.read_text())
    ]
    script = "\n".join(f"{command}\nstatus=$?; echo '{MARK}'; (exit $status)" for command, _ in commands)
    path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    identity = {
        f"GIT_{who}_{what}": "reader@example.com" for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")
    }
    try:
        done = subprocess.run(
            ["bash"], input=script, env={**os.environ, "PATH": path, **identity}, cwd=tmp_path, text=True,
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=True,
        )  # fmt: skip
    finally:
        server.close()
    printed = done.stdout.split(MARK)
    assert len(printed) == len(commands) + 1 > 12
    wrong = [
        f"$ {command}\n{output[-2000:]}\n-- the page shows:\n{shown}"
        for (command, shown), output in zip(commands, printed, strict=False)
        if not as_shown(shown, output)
    ]
    assert not wrong, "\n\n".join(wrong)
