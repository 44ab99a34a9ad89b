"""What hundreds of runs would find again, found once in a session, by whichever of its processes is first.

That is how a kind of sandbox holds its limits, which toolchains it shows, what this machine's tools say of themselves,
the recorded build of equal inputs, the grade of a patch, and that a problem is sound.
"""

import os
import pickle
import threading
from collections.abc import Callable
from contextlib import suppress
from datetime import date
from hashlib import sha256
from pathlib import Path
from typing import Final

from codegate.environments import Recipe, build, inputs, store
from codegate.grading import Grade, Sandboxes, grade
from codegate.grading import sandboxes as opening
from codegate.running import attempt, predictions, readiness
from codegate.sandbox import Assurance, Backend, PreparedEnvironment, preflight, toolchains
from codegate.sandbox.bubblewrap import BubblewrapEnvironment
from codegate.suite import Problem, Tree

FOUND: Final = "CODEGATE_TESTS_FOUND"
"""The variable that names the folder of what was found; what has one of its own finds everything anew."""
_ANY: Final = sha256(b"any tree").hexdigest()


class _NotKept(Exception):
    """What was found, and is looked for again: why a problem is not sound, that a tool prints nothing."""


def remember(put: Callable[[object, str, object], None] = setattr) -> None:
    """Let the runs of this process and of its forks keep what they find; ``put`` is ``setattr``."""
    folder = Path(os.environ[FOUND])

    def look(backend: Backend, environment: PreparedEnvironment) -> Assurance:
        programs = [os.environ.get(name) for name in ("PATH", "DOCKER_HOST")]
        # As in ``Sandboxes``: environments of one base hold the same, whatever is installed in them.
        base: object = environment.identity
        if isinstance(environment, BubblewrapEnvironment):
            base = environment.tools.content, environment.interpreter, environment.toolchains
        key = ["preflight", backend.name, type(backend).__name__, base, programs]
        kept = _kept(folder, key, lambda: preflight(backend, environment).model_dump_json().encode())
        return Assurance.model_validate_json(kept).model_copy(update={"environment": environment.identity[:200]})

    printed = toolchains._printed  # replaced below

    def print_once(argv: list[str]) -> str:
        def ask() -> bytes:
            if text := printed(argv):
                return text.encode()
            raise _NotKept

        try:
            return _kept(folder, ["tool", argv, os.environ.get("PATH"), str(Path.home())], ask).decode()
        except _NotKept:
            return ""

    show = inputs._look  # replaced below

    def shown(recipe: Recipe, kinds: frozenset[str], backend: Backend) -> inputs.BuildBase:
        programs = [os.environ.get(name) for name in ("PATH", "DOCKER_HOST")]
        wanted = recipe.image, recipe.tools, recipe.packages, recipe.services, sorted(kinds)
        key = ["toolchains", backend.name, type(backend).__name__, *wanted, programs]
        base: inputs.BuildBase = pickle.loads(_kept(folder, key, lambda: pickle.dumps(show(recipe, kinds, backend))))
        return base

    def of_any_tree(day: date, tree: str) -> store.TreeOrigin:
        return store.TreeOrigin(day, tree if tree == Tree().digest() else _ANY)

    def about(problem: Problem, sandboxes: Sandboxes) -> tuple[str, ...]:
        environment = sandboxes.prepare(problem.environment)  # a broken one fails each time
        return sandboxes.backend.name, type(sandboxes.backend).__name__, environment.identity, problem.digest

    def graded(problem: Problem, base: Tree, patch: str, sandboxes: Sandboxes) -> Grade:
        if not patch.strip() or problem.manifest.answer is not None:
            return grade(problem, base, patch, sandboxes)
        kept = _kept(
            folder,
            ["grade", *about(problem, sandboxes), patch],
            lambda: grade(problem, base, patch, sandboxes).model_dump_json().encode(),
        )
        return Grade.model_validate_json(kept)

    check = readiness._check  # replaced below

    def sound(problem: Problem, base: Tree, sandboxes: Sandboxes) -> str | None:
        def looked() -> bytes:
            if (wrong := check(problem, base, sandboxes)) is not None:
                raise _NotKept(wrong)
            return b"sound"

        try:
            _kept(folder, ["sound", *about(problem, sandboxes)], looked)
        except _NotKept as error:
            return str(error)
        return None

    put(opening, "preflight", look)
    put(attempt, "grade", graded)
    put(predictions, "grade", graded)
    put(readiness, "_check", sound)
    put(build, "TreeOrigin", of_any_tree)
    put(inputs, "_look", shown)
    put(toolchains, "_printed", print_once)


def _kept(folder: Path, key: object, find: Callable[[], bytes]) -> bytes:
    place = Path(os.environ.get(FOUND, folder)) / sha256(repr(key).encode("utf-8", "backslashreplace")).hexdigest()
    if place.exists():
        return place.read_bytes()
    found = find()
    fresh = place.with_suffix(f".{threading.get_native_id()}")
    with suppress(OSError):  # a command may have been given next to no room for files
        fresh.write_bytes(found)
        fresh.rename(place)
    return found
