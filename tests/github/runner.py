"""Runs a step in this process, and reads its log and files as the runner does, or more strictly; see actions/runner,
``ActionCommand.cs``, ``OutputManager.cs`` and ``FileCommandManager.cs``."""

import json
import re
import unicodedata
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from codegate.github import run_action

_LINE_ENDS = re.compile("\r\n|[\r\n\x0b\x0c\x1c-\x1e\x85\u2028\u2029]")


@dataclass(frozen=True)
class Command:
    name: str
    properties: dict[str, str] = field(default_factory=dict)
    data: str = ""


def commands(log: str) -> list[Command]:
    """Every command in a log. Stricter than the runner: any name counts, every line end of Unicode ends a line, and
    a line is also read as a comparison would that ignores what is invisible."""
    found = []
    for line in _LINE_ENDS.split(log):
        visible = "".join(c for c in line if unicodedata.category(c) not in {"Cc", "Cf", "Cs", "Co", "Cn"} or c == "\t")
        command = _version_2(line) or _version_1(line) or _version_2(visible) or _version_1(visible)
        if command:
            found.append(command)
    return found


def _version_2(line: str) -> Command | None:
    text = line.lstrip()
    end = text.find("::", 2)
    if not text.startswith("::") or end < 0:
        return None
    name, _, rest = text[2:end].partition(" ")
    properties = dict(pair.split("=", 1) for pair in rest.strip().split(",") if "=" in pair)
    replaced = {key: _unescape(value, _PROPERTY) for key, value in properties.items()}
    return Command(name, replaced, _unescape(text[end + 2 :], _DATA))


def _version_1(line: str) -> Command | None:
    start = line.find("##[")
    end = line.find("]", start)
    if start < 0 or end < 0:
        return None
    name, _, rest = line[start + 3 : end].partition(" ")
    properties = dict(pair.split("=", 1) for pair in rest.split(";") if "=" in pair)
    return Command(name, properties, line[end + 1 :])


_DATA = {"%0D": "\r", "%0A": "\n", "%25": "%"}
_PROPERTY = {"%0D": "\r", "%0A": "\n", "%3A": ":", "%2C": ",", "%25": "%"}


def _unescape(text: str, codes: dict[str, str]) -> str:
    for code, character in codes.items():
        text = text.replace(code, character)
    return text


class BrokenFileError(Exception):
    """The runner would fail the step for it."""


def outputs(data: bytes) -> dict[str, str]:
    """The outputs that a GITHUB_OUTPUT file sets, in the order in which they were set last: a later value wins."""
    text = data.decode("utf-8")
    found: dict[str, str] = {}
    if text and not text.endswith("\n"):
        raise BrokenFileError("the last line has no end")
    lines = text.split("\n")[:-1]
    while lines:
        line = lines.pop(0)
        if not line:
            continue
        equals, heredoc = line.find("="), line.find("<<")
        if equals >= 0 and (heredoc < 0 or equals < heredoc):
            name, value = line.split("=", 1)
        elif heredoc >= 0:
            name, delimiter = line.split("<<", 1)
            if not name or not delimiter or delimiter not in lines:
                raise BrokenFileError(f"broken heredoc: {line!r}")
            end = lines.index(delimiter)
            value = "\n".join(lines[:end])
            del lines[: end + 1]
        else:
            raise BrokenFileError(f"neither a value nor a heredoc: {line!r}")
        found.pop(name, None)
        found[name] = value
    return found


@dataclass(frozen=True)
class Step:
    """What the runner has in its hands after a step."""

    code: int
    log: str
    outputs: dict[str, str]
    summary: str

    @property
    def commands(self) -> list[Command]:
        return commands(self.log)

    @property
    def annotations(self) -> list[tuple[str, str]]:
        return [(command.name, command.properties["title"]) for command in self.commands]


def variables(inputs: Mapping[str, str]) -> dict[str, str]:
    """The environment variables in which the runner gives inputs; ``_`` stands for a hyphen."""
    return {f"INPUT_{name.replace('_', '-').upper()}": value for name, value in inputs.items()}


def event_variables(folder: Path, name: str, payload: object, **more: str) -> dict[str, str]:
    """Write an event's payload, and return the variables in which the runner tells of it, with ``more``."""
    path = folder / "event.json"
    path.write_text(payload if isinstance(payload, str) else json.dumps(payload))
    return {
        "GITHUB_EVENT_PATH": str(path), "GITHUB_EVENT_NAME": name, "GITHUB_REPOSITORY": "acme/demo",
        "GITHUB_SHA": "c" * 40, "GITHUB_RUN_ID": "123", **more,
    }  # fmt: skip


def run_step(
    folder: Path, capsys: pytest.CaptureFixture[str], environment: Mapping[str, str], inputs: Mapping[str, str]
) -> Step:
    """Run the action in ``folder/workspace``; its output and summary are new files in ``folder``."""
    files = {name: folder / name for name in ("GITHUB_OUTPUT", "GITHUB_STEP_SUMMARY")}
    for path in files.values():
        path.write_bytes(b"")
    base = {"GITHUB_WORKSPACE": str(folder / "workspace"), **{name: str(path) for name, path in files.items()}}
    code = run_action({**base, **variables(inputs), **environment})
    log = capsys.readouterr()
    assert log.err == ""
    written = outputs(files["GITHUB_OUTPUT"].read_bytes())
    return Step(code, log.out, written, files["GITHUB_STEP_SUMMARY"].read_text())
