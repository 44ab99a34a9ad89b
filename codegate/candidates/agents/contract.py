"""What an agent is to codegate."""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import ClassVar, Literal

HOME = "/tmp/home"  # noqa: S108 - inside the sandbox
FOLDER = "/opt/codegate/agent"
SITE = f"{FOLDER}/site"
MODULES = f"{FOLDER}/packages/node_modules"

#: Runs an installed module, or a file, with the agent's own packages: what it starts gets the environment's instead.
PYTHON_MODULE = (
    "{python}", "-I", "-c",
    f"import runpy, sys; sys.path.insert(0, {SITE!r}); sys.argv = sys.argv[1:]; "
    "runpy.run_module(sys.argv[0], run_name='__main__', alter_sys=True)",
)  # fmt: skip
PYTHON_FILE = (*PYTHON_MODULE[:3], PYTHON_MODULE[3].replace("run_module", "run_path").replace(", alter_sys=True", ""))


@dataclass(frozen=True)
class Task:
    """What an agent is asked to do, and where its model is.

    Attributes:
        prompt: the task, as a person would give it.
        model: the candidate's.
        protocol: which one the gateway speaks.
        address: of the gateway, without ``/v1``.
        key: what stands for a key in the sandbox; worth nothing.
        files: paths of source files, for an agent that edits none but those it is given.
    """

    prompt: str
    model: str
    protocol: str
    address: str
    key: str
    files: tuple[str, ...] = ()


@dataclass(frozen=True)
class Start:
    """How an agent is started.

    Attributes:
        argv: program and arguments. The first may be a pattern for the one file that fits; ``{python}`` is the
            sandbox's interpreter.
        environment: variables.
        files: texts of files below ``HOME``, by their relative paths.
    """

    argv: tuple[str, ...]
    environment: Mapping[str, str]
    files: Mapping[str, str] = field(default_factory=dict)


class Agent(ABC):
    """A coding agent. Stateless.

    Attributes:
        name: what a candidate calls it.
        registry: where it is installed from; None: it is in the sandbox already.
        package: its name there.
        tried: the version that was tried.
        protocols: which its client speaks, the one it does best first.
        beside: further requirements, without which that version does not work.
        least_python: minor version of Python 3 that it needs; 0: none.
        leaves: names of files that it leaves in the tree and that are no part of its answer.
    """

    name: ClassVar[str]
    registry: ClassVar[Literal["npm", "pypi"] | None]
    package: ClassVar[str] = ""
    tried: ClassVar[str] = ""
    protocols: ClassVar[tuple[str, ...]] = ("chat",)
    beside: ClassVar[tuple[str, ...]] = ()
    least_python: ClassVar[int] = 0
    leaves: ClassVar[tuple[str, ...]] = ()

    @abstractmethod
    def start(self, task: Task) -> Start:
        """Return how to start it on one task."""

    def warnings(self, output: bytes) -> tuple[str, ...]:
        """Return what the agent warned of, in its own words; nothing where its output has no format for it."""
        del output
        return ()
