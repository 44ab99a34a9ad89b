"""The interface of an agent."""

import contextlib
import json
import posixpath
import re
import tomllib
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar, Literal

from codegate.candidates.harness import Harness, Part, Role
from codegate.errors import UsageError
from codegate.strict import parse_json

WORKSPACE = "/workspace"
HOME = "/tmp/home"  # noqa: S108 - inside the sandbox
FOLDER = "/opt/codegate/agent"
SITE = f"'{FOLDER}/env/venv/lib/python%d.%d/site-packages' % sys.version_info[:2]"
"""Python expression for the folder of the agent's own packages."""
MODULES = f"{FOLDER}/env/package/node_modules"
_RUN = ("command", "args")
_SERVERS = ("mcpServers", "mcp_servers", "mcp")

#: Run an installed module, or a file, with the agent's packages. Programs that it starts get the environment's.
PYTHON_MODULE = (
    "{python}", "-I", "-c",
    f"import runpy, sys; sys.path.insert(0, {SITE}); sys.argv = sys.argv[1:]; "
    "runpy.run_module(sys.argv[0], run_name='__main__', alter_sys=True)",
)  # fmt: skip
PYTHON_FILE = (*PYTHON_MODULE[:3], PYTHON_MODULE[3].replace("run_module", "run_path").replace(", alter_sys=True", ""))


@dataclass(frozen=True)
class Task:
    """What an agent is given: prompt, model address and files.

    Attributes:
        prompt: the task, as a person would give it.
        model: name of the candidate's model.
        protocol: name of the protocol that the gateway speaks.
        address: address of the gateway, without ``/v1``.
        key: placeholder for a key; worthless outside of the sandbox.
        files: paths of source files, for an agent that edits only files that it is given.
        harness: instructions and settings in the tree that the agent may read; None: none.
        version: the agent's version, as the candidate names it.
    """

    prompt: str
    model: str
    protocol: str
    address: str
    key: str
    files: tuple[str, ...] = ()
    harness: Harness | None = None
    version: str | None = None

    def model_of(self, role: Role) -> str:
        """Return the harness's model for ``role``, else the candidate's model."""
        return self.harness.models.get(role, self.model) if self.harness is not None else self.model

    @property
    def sdk_variables(self) -> dict[str, str]:
        """Return OpenAI's and Anthropic's variables for address and key."""
        return {
            "OPENAI_BASE_URL": f"{self.address}/v1",
            "OPENAI_API_KEY": self.key,
            "ANTHROPIC_BASE_URL": self.address,
            "ANTHROPIC_API_KEY": self.key,
        }


@dataclass(frozen=True)
class Start:
    """The command, variables and files that start an agent.

    Attributes:
        argv: program and arguments. The program may be a glob pattern that one file matches; ``{python}`` is the
            sandbox's interpreter.
        environment: variables.
        files: texts of files below ``HOME``, by their relative paths.
    """

    argv: tuple[str, ...]
    environment: Mapping[str, str]
    files: Mapping[str, str] = field(default_factory=dict)


class Agent(ABC):
    """How to install, start and observe one coding agent. Stateless.

    Attributes:
        name: the agent's name in a candidate.
        registry: where the agent is installed from; None: it is in the sandbox already.
        package: the agent's name in the registry.
        tried: the version that codegate was tested with.
        protocols: names of the protocols that its client speaks, the best one first.
        beside: requirements that are installed with it unless the candidate lists its own.
        least_python: minor version of Python 3 that it needs; 0: none.
        leaves: names of files that it leaves in the tree and that do not belong to its answer.
        places: kinds of harness parts by the path at which the agent reads them by itself; the first matching path
            counts.
        roles: uses for which it accepts a helper model.
        hooks_in_settings: whether hooks in its settings files can be disabled only by leaving these files out.
        server_tools: pattern of the names of an MCP server's tools; ``{}`` stands for the server's name.
        includes_paths: whether its Markdown instructions include files by ``@path``.
    """

    name: ClassVar[str]
    registry: ClassVar[Literal["npm", "pypi"] | None]
    package: ClassVar[str] = ""
    tried: ClassVar[str] = ""
    protocols: ClassVar[tuple[str, ...]] = ("chat",)
    beside: ClassVar[tuple[str, ...]] = ()
    least_python: ClassVar[int] = 0
    leaves: ClassVar[tuple[str, ...]] = ()
    places: ClassVar[Mapping[str, Part]] = {}
    roles: ClassVar[tuple[Role, ...]] = ()
    hooks_in_settings: ClassVar[bool] = False
    server_tools: ClassVar[str] = r"mcp__{}(?:__[\w-]+)?"
    includes_paths: ClassVar[bool] = False

    @abstractmethod
    def start(self, task: Task) -> Start:
        """Return the command that starts the agent on ``task``."""

    def imports(self, path: str, text: str) -> Iterable[str]:
        """Yield patterns of the files that a harness file needs.

        The patterns start at the tree's top. At least the programs of MCP servers and hooks are among the files.
        ``text`` is the file's content.
        """
        found: Any = {}
        with contextlib.suppress(ValueError):  # the agent itself reports a broken file
            found = _document(path, text)
        for words in _commands(found):
            for word in words.split():
                plain = word.strip("\"'").removeprefix("./")
                yield plain.partition("/")[2] if plain.startswith("$") else plain
        if self.includes_paths and path.endswith(".md"):
            names = re.findall(r"(?<![\w`])@([\w./-]+[\w/-])", text)
            yield from (posixpath.join(posixpath.dirname(path), name) for name in names)

    def servers(self, path: str, text: str) -> Mapping[str, Any]:
        """Return the MCP servers in a harness file, by name.

        Raises:
            ValueError: the file is broken.
        """
        document = _document(path, text)
        known = isinstance(document, dict)
        found: Any = next((document[key] for key in _SERVERS if key in document), {}) if known else None
        if not isinstance(found, dict) or not all(isinstance(one, dict) for one in found.values()):
            raise ValueError("its MCP servers are no table by name")
        return found

    def hooks(self, harness: Harness, version: str | None) -> tuple[str, ...]:
        """Return the hook events that the agent's output reports.

        ``harness`` configures the hooks; ``version`` is the agent's.
        """
        del harness, version
        return ()

    def hook_runs(self, output: bytes) -> Iterator[tuple[str, str]]:
        """Yield each hook run's event and error, "" on success."""
        del output
        yield from ()

    def warnings(self, output: bytes) -> tuple[str, ...]:
        """Return the agent's warnings in its ``output``."""
        del output
        return ()


def events_of(output: bytes) -> Iterator[Mapping[str, Any]]:
    """Yield the JSON objects in ``output``, one per line."""
    for line in output.splitlines():
        with contextlib.suppress(ValueError, RecursionError):
            event = json.loads(line)
            if isinstance(event, dict):
                yield event


def _document(path: str, text: str) -> Any:
    """Return a JSON or TOML file's data, else {}.

    Raises:
        ValueError: the file is broken.
    """
    try:
        if path.endswith(".toml"):
            return tomllib.loads(text)
        return parse_json(text, path) if path.endswith(".json") else {}
    except (UsageError, RecursionError) as error:
        raise ValueError(str(error)) from error


def _commands(value: Any) -> Iterator[str]:
    left = [value]
    while left:
        found = left.pop()
        if isinstance(found, list):
            left += found
        elif isinstance(found, dict):
            left += found.values()
            for texts in (found.get(key) for key in _RUN):
                yield from (one for one in (texts if isinstance(texts, list) else [texts]) if isinstance(one, str))
