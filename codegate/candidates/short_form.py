"""Read the short form of a candidate, ``provider:model[@base_url]``.

Examples: ``openai:gpt-5.4-mini-2026-03-17``, ``openai:my-model@http://127.0.0.1:8080/v1``,
``replay:transcripts.jsonl``, ``reference``, ``empty``.
"""

import re
from difflib import get_close_matches
from typing import Final

from codegate.candidates.endpoint import check_base_url
from codegate.candidates.providers import EXAMPLE_CANDIDATE, provider_names
from codegate.errors import UsageError

WITHOUT_MODEL: Final = ("replay", "predictions", "reference", "empty")
_SHORT_FORM: Final = f"A candidate is written provider:model[@base_url], for example {EXAMPLE_CANDIDATE}."

# The base URL begins at the first "@" before a scheme, localhost or a port, because model names may hold "@" and ":".
_BASE_URL: Final = re.compile(r"@(?=[A-Za-z][A-Za-z0-9+.-]*://|localhost\b|[A-Za-z0-9.-]+:\d)")


def known_providers() -> tuple[str, ...]:
    """Return the provider names that short forms may begin with."""
    return (*provider_names(), *(name for name in WITHOUT_MODEL if name != "predictions"))


def read_short_form(text: str) -> dict[str, str | None]:
    """Return the fields ``provider``, ``model`` and ``base_url`` of a candidate.

    Raises:
        UsageError: unknown provider, a missing or superfluous model, or a base URL that is not allowed.
    """
    provider, _, rest = text.strip().partition(":")
    if provider == "predictions":
        raise answers_in_file(f"candidate {_shown(text)}")
    known = known_providers()
    if provider not in known:
        near = get_close_matches(provider, known, 1, cutoff=0.7)
        raise UsageError(
            f"candidate {_shown(text)}: unknown provider {_shown(provider)}.",
            (f"Did you mean {near[0]}? " if near else "") + f"Known providers: {', '.join(known)}. {_SHORT_FORM}",
        )
    model, base_url = rest, None
    if provider in {"reference", "empty"}:
        if rest:
            raise UsageError(f"candidate {_shown(text)}: {provider} takes no model.", f"Write {provider} alone.")
    elif provider == "replay":
        if not rest:
            raise UsageError(
                f"candidate {_shown(text)}: replay needs the file of its transcripts.",
                "Write replay:transcripts.jsonl.",
            )
    else:
        if at := _BASE_URL.search(rest):
            model, base_url = rest[: at.start()], rest[at.end() :]
            check_base_url(base_url)
        if not model or not model.isprintable() or " " in model:
            raise UsageError(f"candidate {_shown(text)}: the model's name is missing or malformed.", _SHORT_FORM)
    return {"provider": provider, "model": model, "base_url": base_url}


def answers_in_file(place: str) -> UsageError:
    """Return the error for calling ``predictions`` as a model.

    ``place`` begins the message.
    """
    return UsageError(
        f"{place}: `predictions` has its answers in a file; there is no model to call.",
        "Pass the file: codegate run SUITE --predictions FILE.",
    )


def _shown(text: str) -> str:
    # Text before an "@" in an address can be a password.
    text = re.sub(r"://[^/\s]*@", "://***@", text)
    return repr(text if len(text) <= 120 else text[:117] + "...")
