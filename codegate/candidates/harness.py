"""The files of a repository that an agent gets.

Their paths and bytes identify them. The agent's module lists the files that it reads by itself (``Agent.places``). A
place is the path of a file or, with a slash at its end, of a folder; it counts at any depth, as in
``packages/api/AGENTS.md``.
"""

import base64
import posixpath
import re
from collections.abc import Iterable, Mapping
from typing import Annotated, Any, Final, Literal

from pydantic import AfterValidator, Field, StringConstraints, model_validator

from codegate.durable import sha256
from codegate.strict import Strict, fits_pattern

Part = Literal["instructions", "skill", "sub-agent", "command", "servers", "settings"]
"""Kind of a harness file. Files of the kinds ``servers`` and ``settings`` can name MCP servers and hooks."""

Role = Literal["small", "subagent"]
"""Use for which an agent calls another model than the candidate's."""

_Path = Annotated[str, StringConstraints(min_length=1, max_length=200), AfterValidator(posixpath.normpath)]
HARNESS_SEPARATOR: Final = ", "
_NO_FILES: Final = {"none", "no file"}
_FRONT_MATTER: Final = re.compile(r"\A---\n.*?\n---\n", re.DOTALL)


class HarnessFile(Strict):
    """A file's path in a problem's tree, and its content.

    The content is ``text``, or ``data`` in base 64 if it is not UTF-8.
    """

    path: str
    text: str = ""
    data: str | None = None
    program: bool = False

    @classmethod
    def of(cls, path: str, data: bytes, *, program: bool = False) -> "HarnessFile":
        """Return a ``HarnessFile`` that holds ``data``.

        ``program``: the file is executable.
        """
        try:
            return cls(path=path, text=data.decode(), program=program)
        except UnicodeDecodeError:
            return cls(path=path, data=base64.b64encode(data).decode(), program=program)

    def content(self) -> bytes:
        """Return the file's bytes."""
        return self.text.encode() if self.data is None else base64.b64decode(self.data)


class Harness(Strict):
    """An agent's own files, hooks and helper models.

    The files replace files at the same paths in a problem's base tree.
    """

    folder: _Path = Field(default=".", description="Folder that stands for the top of a problem's tree.")
    files: tuple[_Path, ...] | None = Field(
        default=None,
        max_length=100,
        description="Files, as paths or with `*` and `**`; default: all that the agent reads by itself.",
    )
    skills: _Path | None = Field(default=None, description="Folder of skills, laid where the agent looks for them.")
    mcp: _Path | None = Field(default=None, description="File with `mcpServers`, for an agent that has another format.")
    hooks: bool = Field(default=True, description="Whether hooks and plugins run.")
    models: Mapping[Role, Annotated[str, StringConstraints(min_length=1, max_length=1000)]] = Field(
        default={},
        exclude_if=lambda models: not models,
        description="Models of the same provider beside the candidate's own: `small` for titles and summaries, "
        "`subagent` for sub-agents; default: the candidate's own.",
    )
    laid: tuple[HarnessFile, ...] | None = Field(
        default=None, description="The files as they were read; written when a run begins."
    )

    @model_validator(mode="before")
    @classmethod
    def _folder_alone(cls, value: Any) -> Any:
        return {"folder": value} if isinstance(value, str) else value

    def file(self, path: str) -> HarnessFile | None:
        """Return the harness file at ``path``, or None."""
        return next((one for one in self.laid or () if one.path == path), None)

    def words(self) -> str:
        """Describe the harness in one line: files, digests, hooks, models."""
        each = [f"{one.path} {sha256(one.content())[:8]}{' program' * one.program}" for one in self.laid or ()]
        models = [f"{role} model {model}" for role, model in sorted(self.models.items())]
        return HARNESS_SEPARATOR.join([*each, *([] if self.hooks else ["hooks off"]), *models]) or "no file"


def changed_paths(before: str, after: str) -> tuple[str, ...]:
    """Return the paths of files that differ between two harnesses.

    ``before`` and ``after`` are descriptions by ``Harness.words``.
    """
    old, new = (set(words.split(HARNESS_SEPARATOR)) for words in (before, after))
    return tuple(
        sorted({entry.removesuffix(" program").rpartition(" ")[0] or entry for entry in (old ^ new) - _NO_FILES})
    )


def part_of(path: str, places: Mapping[str, Part]) -> Part | None:
    """Return the kind of harness part at ``path``, or None.

    ``places`` has the kinds by the path of a file or, with a slash at its end, of a folder. The first entry that
    matches ``path`` counts.
    """
    for place, part in places.items():
        if f"/{path}".endswith(f"/{place}") or (place.endswith("/") and f"/{place}" in f"/{path}"):
            return part
    return None


def matches_any(path: str, patterns: Iterable[str]) -> bool:
    """Return whether ``path`` matches a pattern or lies below it.

    ``**`` stands for any number of folders. A hostile pattern takes no longer than any other.
    """
    names = path.split("/")
    for pattern in patterns:
        reached = {0}
        for part in pattern.split("/"):
            if part == "**":
                reached = set(range(min(reached, default=len(names) + 1), len(names) + 1))
            else:
                reached = {at + 1 for at in reached if at < len(names) and fits_pattern(names[at], part.split("*"))}
        if reached:
            return True
    return False


def longest_line(text: str) -> str:
    """Return the text's longest line, without its front matter."""
    lines = _FRONT_MATTER.sub("", text.replace("\r\n", "\n")).split("\n")
    return max((line.strip() for line in lines), key=len, default="")
