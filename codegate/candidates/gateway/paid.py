"""Keep an unfinished attempt's paid answers on disk.

If a run is killed, the resumed run starts the attempt again. The answers that were paid before come from disk, and only
the other turns are sent to the model.
"""

import base64
import json
import threading
from collections import defaultdict, deque
from collections.abc import Callable
from decimal import Decimal
from itertools import count
from pathlib import Path
from typing import Annotated, Any, Final, TypeAlias

from pydantic import Field, TypeAdapter

from codegate.candidates.conversation import Completion
from codegate.candidates.redaction import Redactor
from codegate.candidates.sdk import ForwardedAnswer
from codegate.durable import append_line
from codegate.errors import UsageError

ModelCall: TypeAlias = Callable[[Callable[[], Completion], int], Completion]
"""Makes one model call with retries, budgets and limits. The second argument is the request's approximate size in
bytes."""

_MOST_USD: Final = 10**9  # per line; adding a number with a huge exponent would overflow
_PRICE: Final = TypeAdapter(Annotated[Decimal, Field(ge=-_MOST_USD, le=_MOST_USD)])  # refuses NaN and infinity


class PaidAnswers:
    """The paid answers of one unfinished attempt, on disk. Thread-safe.

    A resumed attempt uses them instead of calls. ``redactor`` removes secrets from them. ``spent`` is the sum in
    dollars that earlier executions of the attempt recorded.
    """

    def __init__(self, path: Path, redactor: Redactor) -> None:
        self._path, self._redactor = path, redactor
        self._lock = threading.Lock()
        self._left: defaultdict[str, deque[ForwardedAnswer]] = defaultdict(deque)
        if path.is_symlink():
            raise UsageError(f"{path} is a symbolic link; runs hold none.", "Remove it.")
        path.parent.mkdir(parents=True, exist_ok=True)
        found, self.spent = _read(path)
        for turn, answer in found:
            self._left[turn].append(answer)

    @property
    def empty(self) -> bool:
        """Return whether no answer is stored."""
        with self._lock:
            return not any(self._left.values())

    def take(self, turn: str) -> ForwardedAnswer | None:
        """Remove and return a stored answer to ``turn``, or None.

        The oldest is returned. ``turn`` is the number of the turn in its conversation; for an agent, the request's
        digest.
        """
        with self._lock:
            return self._left[turn].popleft() if self._left[turn] else None

    def prepare(self, turn: str, answer: ForwardedAnswer) -> bytes:
        """Return the line that stores an answer, without secrets.

        ``turn`` is as in ``take``.
        """
        content = base64.b64encode(answer.content).decode("ascii")
        completion = self._redactor.clean_model(answer.completion)
        line = [turn, content, answer.streamed, completion.model_dump(mode="json")]
        return json.dumps(line).encode("ascii")

    def keep(self, prepared: bytes) -> None:
        """Store an answer: the line that ``prepare`` returned."""
        with self._lock:
            append_line(self._path, prepared)

    def spend(self, usd: Decimal) -> None:
        """Record paid dollars; a negative amount corrects earlier records."""
        with self._lock:
            append_line(self._path, json.dumps(str(usd)).encode("ascii"))

    def reused(self, call: ModelCall) -> ModelCall:
        """Return a model call that answers stored turns from disk.

        ``call`` sends all other turns. The returned function counts turns, so make one for each conversation.
        """
        turns = count()

        def answer(action: Callable[[], Completion], request_bytes: int) -> Completion:
            turn = str(next(turns))
            if (kept := self.take(turn)) is not None:
                return kept.completion.model_copy(update={"reasoning": _reasoning(kept.content)})
            completion = call(action, request_bytes)
            # The reasoning is stored too: the provider wants it back with the next turn, and no other file has it.
            reasoning = json.dumps(self._redactor.clean(completion.reasoning)).encode()
            self.keep(self.prepare(turn, ForwardedAnswer(reasoning, streamed=False, completion=completion)))
            return completion

        return answer


def _reasoning(content: bytes) -> tuple[dict[str, Any], ...]:
    # The file is untrusted.
    try:
        found = json.loads(content)
    except (ValueError, RecursionError):
        return ()
    return tuple(each for each in found if isinstance(each, dict)) if isinstance(found, list) else ()


def _read(path: Path) -> tuple[list[tuple[str, ForwardedAnswer]], Decimal]:
    # The file is truncated before a line that a crash cut off.
    found: list[tuple[str, ForwardedAnswer]] = []
    usd = Decimal(0)
    if not path.is_file():
        return found, usd
    size = 0
    with path.open("r+b") as file:
        for line in file:
            try:
                entry = json.loads(line)
                if not line.endswith(b"\n"):
                    break
                if isinstance(entry, str):
                    # The sum can be negative only if the file was changed.
                    usd = max(usd + _PRICE.validate_python(entry), Decimal(0))
                else:
                    request, content, streamed, completion = entry
                    answer = ForwardedAnswer(
                        base64.b64decode(content), bool(streamed), Completion.model_validate(completion)
                    )
                    found.append((str(request), answer))
            except (ValueError, TypeError, RecursionError):
                break
            size += len(line)
        file.truncate(size)
    return found, usd
