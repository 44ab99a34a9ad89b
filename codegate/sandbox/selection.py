"""Choose the backend: Docker, else bubblewrap, else none.

A backend is a file with a factory in it: ``(run id, option) -> Backend``. Our own are listed here; other packages add
theirs by an entry point of ``codegate.sandboxes``, and ``auto`` never chooses those.
"""

import re
import threading
from collections.abc import Callable, Mapping
from contextlib import closing
from typing import Annotated, Final, cast

from pydantic import Field

from codegate.errors import UsageError
from codegate.plugins import load_plugin, plugin_names
from codegate.sandbox.contract import Backend, SandboxUnavailable
from codegate.sandbox.ownership import workflow_job

_PATTERN: Final = r"^[a-z][a-z0-9_-]{0,63}(:[A-Za-z0-9][A-Za-z0-9._-]{0,63})?$"
"""The form of a choice. The user makes the choice; a suite cannot."""

Choice = Annotated[
    str,
    Field(
        description="Where untrusted code runs; auto: Docker where a daemon answers, else bubblewrap. A RUNTIME is one "
        "that the daemon knows, such as runsc. e2b and modal rent machines, which cost money.",
        examples=["auto", "docker", "docker:RUNTIME", "bwrap", "e2b", "modal"],
        json_schema_extra={"pattern": _PATTERN},
    ),
]
"""Name of a backend, ours or an installed package's. An option can follow after a colon."""

Factory = Callable[[str, str | None], Backend]
"""Makes a backend from a run's id and the choice's option; raises SandboxUnavailable."""

_GROUP: Final = "codegate.sandboxes"

STOP_SECONDS: Final = 2.0
"""How long an interrupted command waits for its backend to close."""


def check_choice(text: str) -> Choice:
    """Return ``text`` if it names a known backend.

    Raises:
        UsageError: ``text`` names no known backend, or has an option that the backend does not take.
    """
    name, _, option = text.partition(":")
    known = name in {*_BACKENDS, *plugin_names(_GROUP), "auto"}
    if re.fullmatch(_PATTERN, text) is None or not known or (option and name in {"auto", "bwrap"}):
        others = plugin_names(_GROUP)
        raise UsageError(
            f"{text[:100]!r} is no sandbox.",
            f"Choose {', '.join(['auto', 'docker', 'docker:RUNTIME (for example docker:runsc)', 'bwrap', *others])}.",
        )
    return text


def select_backend(choice: Choice, run_id: str) -> Backend:
    """Return the backend that ``choice`` names.

    ``auto`` takes the first of codegate's own backends that works here.

    Raises:
        UsageError: no backend has this name, or the daemon lacks the runtime.
        SandboxUnavailable: the backend does not work here, or with ``auto`` none does.
    """
    name, _, option = check_choice(choice).partition(":")
    if name != "auto":
        make = _BACKENDS.get(name) or load_plugin(_GROUP, name)
        if not callable(make):
            raise UsageError(f"the entry point {name!r} of {_GROUP} makes no sandbox.", "Update the package.")
        return cast("Factory", make)(run_id, option or None)
    reasons = []
    for make in _BACKENDS.values():
        try:
            return make(run_id, None)
        except SandboxUnavailable as error:
            reasons.append(str(error))
    raise SandboxUnavailable(f"no sandbox can run here: {' '.join(reasons)}")


def close_soon(backend: Backend) -> None:
    """Close a backend of an interrupted command, without waiting long.

    The sandboxes end at once, but removing their files can take a minute. The next ``sweep`` removes what is left when
    the process exits.
    """
    end = threading.Thread(target=backend.close, name="codegate-stop", daemon=True)
    end.start()
    end.join(STOP_SECONDS)


def reap_job(environment: Mapping[str, str]) -> int:
    """Remove the sandboxes of this workflow job; return the count.

    Raises:
        SandboxUnavailable: no Docker daemon answers.
    """
    from codegate.sandbox.docker import DockerBackend  # noqa: PLC0415 - as below

    job = workflow_job(environment)
    if not job:
        return 0
    with closing(DockerBackend("reaper")) as backend:
        return backend.reap(job)


def _docker(run_id: str, runtime: str | None) -> Backend:
    from codegate.sandbox.docker import DockerBackend  # noqa: PLC0415 - keeps the front door cheap

    return DockerBackend(run_id, runtime)


def _bubblewrap(run_id: str, _option: str | None) -> Backend:
    from codegate.sandbox.bubblewrap import BubblewrapBackend  # noqa: PLC0415 - as above

    return BubblewrapBackend(run_id)


#: codegate's own backends, in the order in which ``auto`` tries them.
_BACKENDS: Final[Mapping[str, Factory]] = {"docker": _docker, "bwrap": _bubblewrap}
