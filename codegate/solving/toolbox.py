"""The tools of the tool loop.

They work on a workspace in memory. The model gets errors as results.
"""

from collections.abc import Callable
from typing import Any, Final, TypeAlias

from pydantic import ConfigDict, Field, ValidationError

from codegate.candidates import ToolCall, ToolSpec
from codegate.solving.workspace import Workspace, WorkspaceError
from codegate.strict import Strict
from codegate.suite import Tree
from codegate.wording import encodable

TestTool: TypeAlias = Callable[[Tree], tuple[str, float]]
"""Runs the public tests on a tree, in a sandbox that the caller opens. Returns their output and the seconds."""

MAX_ARGUMENTS: Final = 2 << 20
MAX_RESULT: Final = 100 << 10
MAX_TEST_OUTPUT: Final = 20_000
MAX_ALL_RESULTS: Final = 2 << 20
MAX_TEST_RUNS: Final = 20
MAX_LISTED: Final = 2000


class _Arguments(Strict):
    model_config = ConfigDict(strict=True)


class ReadFile(_Arguments):
    """Read a text file, or a range of its lines."""

    path: str = Field(description="Path relative to the repository.")
    first_line: int | None = Field(default=None, ge=1, description="First line to read; the first line is 1.")
    last_line: int | None = Field(default=None, ge=1, description="Last line to read, inclusive.")


class WriteFile(_Arguments):
    """Create a file, or replace its whole content."""

    path: str = Field(description="Path relative to the repository.")
    content: str = Field(description="The complete new content of the file.")
    executable: bool | None = Field(default=None, description="Whether it is a program; by default as it was.")


class ReplaceInFile(_Arguments):
    """Replace text that occurs exactly once in a file."""

    path: str = Field(description="Path relative to the repository.")
    old: str = Field(description="The current text, long enough to occur only once.")
    new: str = Field(description="The replacement text.")


class DeleteFile(_Arguments):
    """Delete a file."""

    path: str = Field(description="Path relative to the repository.")


class ListFiles(_Arguments):
    """List the files in the repository or in a folder."""

    folder: str = Field(default="", description="Folder relative to the repository; empty for the whole repository.")


class Search(_Arguments):
    """Find the lines that contain a literal text (not a regular expression)."""

    text: str = Field(description="The text to find: one line, case-sensitive.")
    folder: str = Field(default="", description="Folder to search; empty for the whole repository.")


class RunTests(_Arguments):
    """Run the repository's public tests on the current files."""


_TOOLS: Final[dict[str, type[_Arguments]]] = {
    "read_file": ReadFile,
    "write_file": WriteFile,
    "replace_in_file": ReplaceInFile,
    "delete_file": DeleteFile,
    "list_files": ListFiles,
    "search": Search,
    "run_tests": RunTests,
}


def tool_specs() -> tuple[ToolSpec, ...]:
    """Return the tools that the model may call."""
    return tuple(
        ToolSpec(name=name, description=kind.__doc__ or "", parameters=_schema(kind)) for name, kind in _TOOLS.items()
    )


class ToolError(Exception):
    """The model's tool call is wrong; the text explains it."""


class Toolbox:
    """Runs and counts the model's tool calls in one attempt."""

    def __init__(self, workspace: Workspace, run_public_tests: TestTool) -> None:
        self.workspace = workspace
        self.errors = 0
        self.wrote = False
        self.seconds = 0.0
        self._run_public_tests = run_public_tests
        self._test_runs = 0
        self._last_run: tuple[str, str] | None = None
        self._sent = 0

    def answer(self, call: ToolCall) -> str:
        """Run a tool call; return its result for the model."""
        try:
            result = self._run(call)
        except (ToolError, WorkspaceError) as error:
            self.errors += 1
            result = f"Error: {error}"
        result = _capped(encodable(result), min(MAX_RESULT, max(MAX_ALL_RESULTS - self._sent, 200)))
        self._sent += len(result)
        return result

    def _run(self, call: ToolCall) -> str:
        kind = _TOOLS.get(call.name)
        if kind is None:
            raise ToolError(f"there is no tool {call.name[:80]!r}. Tools: {', '.join(_TOOLS)}.")
        if len(call.arguments) > MAX_ARGUMENTS:
            raise ToolError(f"the arguments are longer than {MAX_ARGUMENTS} characters.")
        try:
            arguments = kind.model_validate_json(call.arguments.encode("utf-8", "replace") or b"{}")
        except ValidationError as error:
            first = error.errors(include_url=False, include_input=False)[0]
            place = ".".join(str(part) for part in first["loc"])[:100]
            raise ToolError(f"arguments{'.' + place if place else ''}: {first['msg'][:300]}.") from None
        edits = isinstance(arguments, (WriteFile, ReplaceInFile, DeleteFile))
        if self._sent >= MAX_ALL_RESULTS and not edits:
            raise ToolError("the tools have reached the output limit of this attempt; you can still edit files.")
        result = self._perform(arguments)
        self.wrote |= edits
        return result

    def _perform(self, arguments: _Arguments) -> str:
        workspace = self.workspace
        match arguments:
            case ReadFile(path=path, first_line=None, last_line=None):
                return workspace.read(path)
            case ReadFile(path=path, first_line=first, last_line=last):
                return workspace.read_lines(path, first or 1, last or 1_000_000_000)
            case WriteFile(path=path, content=content, executable=executable):
                workspace.write(path, content, executable=executable)
                return f"Wrote {len(content)} characters."
            case ReplaceInFile(path=path, old=old, new=new):
                workspace.replace(path, old, new)
                return "Replaced."
            case DeleteFile(path=path):
                workspace.delete(path)
                return "Deleted."
            case ListFiles(folder=folder):
                paths = workspace.list(folder)
                more = f"\n... and {len(paths) - MAX_LISTED} more" if len(paths) > MAX_LISTED else ""
                return (
                    "\n".join(ascii(p) if not p.isprintable() else p for p in paths[:MAX_LISTED]) + more or "No files."
                )
            case Search(text=text, folder=folder):
                return "\n".join(workspace.search(text, folder)) or "No matches."
            case _:
                return self._tests()

    def _tests(self) -> str:
        tree = self.workspace.tree()
        state = tree.digest()
        if self._last_run is not None and self._last_run[0] == state:
            return "(nothing has changed since the last run)\n" + self._last_run[1]
        if self._test_runs >= MAX_TEST_RUNS:
            raise ToolError(f"the tests have run {MAX_TEST_RUNS} times, which is the limit.")
        self._test_runs += 1
        output, seconds = self._run_public_tests(tree)
        self.seconds += seconds
        if len(output) > MAX_TEST_OUTPUT:
            half = MAX_TEST_OUTPUT // 2
            output = f"{output[:half]}\n... {len(output) - 2 * half} characters omitted ...\n{output[-half:]}"
        self._last_run = (state, output)
        return output


def _schema(kind: type[_Arguments]) -> dict[str, Any]:
    schema = kind.model_json_schema()
    properties = {
        name: {key: value for key, value in field.items() if key != "title"}
        for name, field in schema.get("properties", {}).items()
    }
    return {
        "type": "object",
        "properties": properties,
        "required": schema.get("required", []),
        "additionalProperties": False,
    }


def _capped(text: str, limit: int) -> str:
    return text if len(text) <= limit else f"{text[:limit]}\n... {len(text) - limit} characters omitted"
