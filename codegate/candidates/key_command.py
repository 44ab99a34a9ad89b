"""Keys that a program prints, such as ``gcloud auth print-access-token``."""

import os
import shlex
import subprocess
from typing import Final

from codegate.candidates.redaction import learn, redactor_for
from codegate.errors import UsageError
from codegate.host_program import run_program

SECONDS: Final = 30.0
_MAX_KEY: Final = 16_384


def key_from(command: tuple[str, ...]) -> str:
    """Return the key that ``command`` prints; from now on every redactor knows it.

    It has the whole environment, since it may need a token of its own, and starts in ``/``: nothing of the checkout,
    which a pull request writes, is found by a relative path.

    Raises:
        UsageError: it cannot be started, fails, takes too long, or prints nothing or too much.
    """
    shown = f"`api_key_command` {shlex.join(command)[:200]}"
    try:
        done = run_program(command, env=os.environ, cwd="/", seconds=SECONDS)
    except OSError as error:
        raise UsageError(
            f"{shown} cannot be started: {error.strerror}.", "It is a program and its arguments."
        ) from error
    except subprocess.TimeoutExpired as error:
        raise UsageError(f"{shown} printed no key within {SECONDS:g} s.", "Try it by hand.") from error
    if done.returncode != 0:
        said = redactor_for().redact(" ".join(done.stderr[-1000:].decode("utf-8", "replace").split()))[-300:]
        raise UsageError(
            f"{shown} ended with status {done.returncode}: {said or 'it wrote nothing'}", "Try it by hand."
        )
    key = done.stdout[: _MAX_KEY + 1].decode("utf-8", "replace").strip()
    if not key or len(key) > _MAX_KEY:
        raise UsageError(
            f"{shown} printed {'too much for' if key else 'no'} key.", "It prints the key and nothing else."
        )
    learn(key)
    return key
