"""Answers that an agent's attempt has paid for, kept until the attempt is: a run that is killed pays for none twice.

An agent starts anew when its run goes on. What it asks as it asked before is answered from here; where it goes another
way, the model is asked.
"""

import base64
import json
import threading
from collections import defaultdict, deque
from pathlib import Path

from codegate.candidates import Completion, Forwarded
from codegate.durable import append_line
from codegate.errors import UsageError


class PaidAnswers:
    """The answers of one attempt, on the disk. Thread-safe."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._lock = threading.Lock()
        self._left: defaultdict[str, deque[Forwarded]] = defaultdict(deque)
        if path.is_symlink():
            raise UsageError(f"{path} is a symbolic link; runs hold none.", "Remove it.")
        path.parent.mkdir(parents=True, exist_ok=True)
        for request, answer in _read(path):
            self._left[request].append(answer)

    def take(self, request: str) -> Forwarded | None:
        """Return the next kept answer to the request with that digest; each is given once."""
        with self._lock:
            return self._left[request].popleft() if self._left[request] else None

    def keep(self, request: str, answer: Forwarded) -> None:
        """Keep an answer durably.

        Raises:
            InfrastructureError: the disk refused.
        """
        content = base64.b64encode(answer.content).decode("ascii")
        line = [request, content, answer.streamed, answer.completion.model_dump(mode="json")]
        with self._lock:
            append_line(self._path, json.dumps(line).encode("ascii"))


def _read(path: Path) -> list[tuple[str, Forwarded]]:
    """Return what the file holds; a last line that a crash cut off, and all behind it, is taken away."""
    found: list[tuple[str, Forwarded]] = []
    if not path.is_file():
        return found
    size = 0
    with path.open("r+b") as file:
        for line in file:
            try:
                request, content, streamed, completion = json.loads(line)
                answer = Forwarded(base64.b64decode(content), bool(streamed), Completion.model_validate(completion))
            except (ValueError, TypeError, RecursionError):
                break
            if not line.endswith(b"\n"):
                break
            found.append((str(request), answer))
            size += len(line)
        file.truncate(size)
    return found
