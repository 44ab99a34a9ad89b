"""What the user says about the environment: a requirements or lock file, a base image, a test command."""

from dataclasses import dataclass
from pathlib import Path
from typing import Final

from packaging.requirements import InvalidRequirement, Requirement

from codegate.errors import UsageError
from codegate.mining.environments.lockfiles import read_pins
from codegate.sandbox.environment import check_lock
from codegate.suite import Tree, TreeFile
from codegate.suite.declared import MAX_LOCK_BYTES, lines

_LOCKS: Final = frozenset({"uv.lock", "poetry.lock", "pdm.lock", "pylock.toml", "Pipfile.lock"})


@dataclass(frozen=True)
class UserEnvironment:
    """The first rung of the ladder; see ``read_user_environment``.

    Attributes:
        requirements: PEP 508 strings, resolved as of each change's time.
        constraints: pins of a lock, for what each tree declares.
        lock: hash-locked requirements, used as they are.
        image: the base image by digest, for all environments.
        command: what runs the tests of a repository in any language; ``{files}`` stands for the test files.
        reports: the JUnit XML files, or folders of them, that the command writes.
    """

    requirements: tuple[str, ...] = ()
    constraints: tuple[str, ...] = ()
    lock: str | None = None
    image: str | None = None
    command: tuple[str, ...] = ()
    reports: tuple[str, ...] = ()


def read_user_environment(file: Path | None, image: str | None = None) -> UserEnvironment:
    """Return what ``file`` and ``image`` say.

    Args:
        file: hash-locked requirements are used as they are, other requirements are resolved as of each change's
            time, and of a lock file (uv, Poetry, PDM, Pipenv, pylock) the pins are kept.
        image: base image by digest, as ``name@sha256:…``.

    Raises:
        UsageError: the file cannot be read, or has a line that is no requirement of an index.
    """
    if file is None:
        return UserEnvironment(image=image)
    try:
        data = file.read_bytes()
    except OSError as error:
        raise UsageError(f"cannot read {file}: {error.strerror}.", "Name a requirements or lock file.") from error
    if len(data) > MAX_LOCK_BYTES:
        raise UsageError(f"{file} is over {MAX_LOCK_BYTES >> 20} MiB.")
    if file.name in _LOCKS:
        pins = read_pins(Tree({file.name: TreeFile(data)}), "")
        if not pins:
            raise UsageError(f"{file} pins no package of an index.", "Name the lock file of a project.")
        return UserEnvironment(constraints=pins, image=image)
    text = data.decode("utf-8", "replace")
    if "--hash" in text:
        check_lock(text)
        return UserEnvironment(lock=text, image=image)
    return UserEnvironment(tuple(_requirement(file, line) for line in lines(text)), image=image)


def _requirement(file: Path, line: str) -> str:
    try:
        requirement = Requirement(line)
    except (InvalidRequirement, RecursionError):
        requirement = None
    if requirement is None or requirement.url is not None:
        raise UsageError(
            f"{file} has a line that is no requirement of a package index: {line[:120]!r}.",
            "Give plain requirements such as `pytest>=8`; put what other files hold into this one.",
        )
    return str(requirement)
