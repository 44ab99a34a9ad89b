"""What hundreds of runs would find again, found once in a session.

That is how a kind of sandbox holds its limits, which toolchains it shows, and the units of hidden tests.
"""

import os
import pickle
import threading
from collections.abc import Callable, Mapping
from contextlib import suppress
from hashlib import sha256
from pathlib import Path

from codegate.environments import Recipe, inputs
from codegate.grading import sandboxes
from codegate.grading.controls import copies
from codegate.languages.searching import search_tests
from codegate.sandbox import Assurance, Backend, PreparedEnvironment, preflight
from codegate.suite import RunnerName


def remember(folder: Path, put: Callable[[object, str, object], None] = setattr) -> None:
    """Let the runs of this process and of its forks keep in ``folder`` what they find; ``put`` is ``setattr``."""

    def look(backend: Backend, environment: PreparedEnvironment) -> Assurance:
        programs = [os.environ.get(name) for name in ("PATH", "DOCKER_HOST")]
        key = ["preflight", backend.name, environment.identity, programs]
        kept = _kept(folder, key, lambda: preflight(backend, environment).model_dump_json().encode())
        return Assurance.model_validate_json(kept)

    show = inputs._look  # replaced below

    def shown(recipe: Recipe, kinds: frozenset[str], backend: Backend) -> inputs.BuildBase:
        programs = [os.environ.get(name) for name in ("PATH", "DOCKER_HOST")]
        key = ["toolchains", backend.name, recipe.image, recipe.tools, recipe.packages, sorted(kinds), programs]
        base: inputs.BuildBase = pickle.loads(_kept(folder, key, lambda: pickle.dumps(show(recipe, kinds, backend))))
        return base

    def find(texts: Mapping[str, str], runner: RunnerName) -> bytes:
        return _kept(folder, ["search", sorted(texts.items()), runner], lambda: search_tests(texts, runner))

    put(sandboxes, "preflight", look)
    put(inputs, "_look", shown)
    put(copies, "search_tests", find)


def _kept(folder: Path, key: object, find: Callable[[], bytes]) -> bytes:
    place = folder / sha256(repr(key).encode("utf-8", "backslashreplace")).hexdigest()
    if place.exists():
        return place.read_bytes()
    found = find()
    fresh = place.with_suffix(f".{threading.get_native_id()}")
    with suppress(OSError):  # a command may have been given next to no room for files
        fresh.write_bytes(found)
        fresh.rename(place)
    return found
