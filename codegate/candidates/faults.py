"""Convert the errors of model calls to faults."""

import email.utils
import math
import re
import time
from collections.abc import Mapping
from typing import Any, Final

from codegate.candidates.conversation import NO_USAGE, ProviderError, ProviderFault, Usage
from codegate.candidates.declined import FAULT_OF_KIND, error_parts, fault_of_status, setting_named, stop_named
from codegate.candidates.endpoint import Endpoint
from codegate.candidates.redaction import Redactor, answer_redactor
from codegate.candidates.spec import CandidateSpec
from codegate.candidates.wire import CONNECT_SECONDS, MAX_ANSWER_BYTES, AnswerTooLargeError

MESSAGE_CHARACTERS: Final = 300
_WITHOUT_PATH: Final = re.compile(r"https?://[^/]+/(?:chat/completions|responses)(?:\?.*)?")

_DECLINING: Final = frozenset({503, 529})
"""HTTP statuses of an overloaded provider that did not call the model. With another 5xx the model may have worked."""


class FaultConverter:
    """Converts errors of model calls to redacted ``ProviderError``.

    ``sdk`` is the SDK's module, and ``base`` the base class of its errors. ``charges_declined``: the provider charges
    for a prompt that it declines as too long.
    """

    def __init__(
        self, spec: CandidateSpec, endpoint: Endpoint, sdk: Any, base: type[Exception], *, charges_declined: bool
    ) -> None:
        self._where = f"{spec.provider} ({spec.model} at {endpoint.base_url})"
        self._variable = endpoint.key_variable
        self._sdk, self._base = sdk, base
        self._redactor, self._of_answers = Redactor(endpoint.key), answer_redactor((), endpoint.key)
        self._charges_declined = charges_declined

    def of(self, error: Exception, seconds: float) -> ProviderError | None:
        """Return an SDK's error as a ``ProviderError``; None for others.

        ``seconds`` is the call's time limit.
        """
        chain = _chain(error)
        if any(isinstance(link, AnswerTooLargeError) for link in chain):
            return self.malformed(f"the answer is larger than {MAX_ANSWER_BYTES >> 20} MiB")
        # Classes are compared by name, because the HTTP package behind an SDK depends on the SDK's version.
        names = {type(link).__name__ for link in chain}
        if "DecodingError" in names:
            return self.malformed("the answer's compression is broken")
        if isinstance(error, ConnectionAbortedError):
            return self._error("connection", "the call was cut because the provider was closed")
        if isinstance(error, self._sdk.APIStatusError):
            return self._of_status(error)
        if "ConnectTimeout" in names:
            return self._unsent(f"no connection within {min(seconds, CONNECT_SECONDS):g} s")
        if isinstance(error, (TimeoutError, self._sdk.APITimeoutError)):
            return self._error(
                "timeout",
                f"no answer within {seconds:g} s",
                "Raise `timeout_seconds` of the candidate if the model needs longer.",
            )
        if isinstance(error, self._sdk.APIConnectionError):
            innermost = next((link for link in reversed(chain) if str(link)), error)
            what = f"the connection failed: {self._text(innermost)}"
            return self._unsent(what) if "ConnectError" in names else self._error("connection", what)
        if isinstance(error, self._base):
            return self.malformed(self._text(error))
        return None

    def malformed(self, what: str, content: bytes = b"") -> ProviderError:
        """Return the error for an answer that violates the protocol.

        ``what`` says what is wrong with the answer ``content``. The message has both, ``content`` shortened.
        """
        shown = self.clean(content[:4096].decode("utf-8", "replace"), 120)
        return self._error(
            "malformed",
            f"malformed answer: {what}" + (f"; it begins {shown!r}" if shown else ""),
            "Check that the address speaks this API.",
        )

    def refused(self, message: str, kind: str, usage: Usage) -> ProviderError:
        """Return the error for a refusal with HTTP status 200.

        ``message`` and ``kind`` come from the refusal. ``usage`` has the tokens that it reports, because the model may
        have worked before it refused.
        """
        fault = FAULT_OF_KIND.get(kind, "malformed")
        found = self._error(fault, f"an error with status 200: {self.clean(message)}")
        found.stop, found.usage = stop_named(message), usage
        return found

    def has_key(self, text: str) -> bool:
        """Return whether a text holds the key."""
        return self._of_answers.redact_whole(text) != text

    def visible(self, text: str) -> str:
        """Return a model's text without the key and lone surrogates."""
        return self._of_answers.redact_whole(text.encode("utf-16", "surrogatepass").decode("utf-16", "replace"))

    def _of_status(self, error: Exception) -> ProviderError:
        response: Any = getattr(error, "response", None)
        status: int = response.status_code
        body = getattr(error, "body", None)
        kind, message = error_parts(body)
        raw = response.content[:4096].decode("utf-8", "replace")
        message = message or raw
        retry_after = _retry_after(response.headers)
        if 300 <= status < 400:
            return self._error(
                "not_found",
                f"status {status} redirects to {self.clean(response.headers.get('location', 'nowhere'))}, "
                "and redirects are not followed",
                "Give the final address as `base_url` of the candidate in codegate.yml.",
            )
        fault = fault_of_status(status, kind, message)
        setting = setting_named(body, message) if fault == "bad_request" else None
        remedy = {
            "authentication": f"Check the key in {self._variable} and what it may use; `api_key_env` of the candidate "
            "in codegate.yml names another variable.",
            "not_found": "The model does not exist or was retired, or the address is wrong: check `model` and "
            "`base_url` of the candidate in codegate.yml.",
            "quota": "The account behind the key is out of credit or quota.",
            "rate_limit": f"The server asks to wait {retry_after:.0f} s." if retry_after else "",
            "bad_request": f"Change or remove `{setting}` of the candidate in codegate.yml." if setting else "",
        }.get(fault, "")
        if fault in {"bad_request", "not_found"} and "v1/responses" in message:
            remedy = "Set `protocol: responses` for the candidate in codegate.yml."
        elif fault == "not_found" and _WITHOUT_PATH.fullmatch(str(response.request.url)):
            remedy = "The base URL has no path: most servers want /v1 at its end. If it is right, check `model`."
        text = self.clean(message)
        found = self._error(fault, f"status {status}" + (f": {text}" if text else ""), remedy, retry_after)
        found.stop = stop_named(raw) if fault == "bad_request" else None
        found.setting = setting
        worked = fault == "overloaded" and status >= 500 and status not in _DECLINING
        # A content filter reads the prompt and may be a part of the model, so the tokens that it charges are unknown.
        if worked or found.stop == "content_filter" or (found.stop is not None and self._charges_declined):
            found.usage = Usage()
        return found

    def _unsent(self, what: str) -> ProviderError:
        found = self._error("connection", what)
        found.usage = NO_USAGE
        return found

    def _error(
        self, fault: ProviderFault, what: str, remedy: str = "", retry_after: float | None = None
    ) -> ProviderError:
        cause = self._redactor.redact(f"{self._where}: {what.rstrip('.')}.")
        return ProviderError(fault, cause, remedy, retry_after=retry_after)

    def _text(self, error: BaseException) -> str:
        return self.clean(str(error) or type(error).__name__)

    def clean(self, text: str, limit: int = MESSAGE_CHARACTERS) -> str:
        """Return untrusted text as one printable line, without the key."""
        text = self._redactor.redact(text[:8192])
        line = " ".join("".join(c if c.isprintable() else " " for c in text).split())
        return line if len(line) <= limit else line[: limit - 1] + "…"


def _retry_after(headers: Mapping[str, str]) -> float | None:
    """Return the Retry-After header in seconds (RFC 9110), or None."""
    for name, unit in (("retry-after-ms", 0.001), ("retry-after", 1.0)):
        value = headers.get(name, "").strip()
        if not value:
            continue
        try:
            seconds = float(value) * unit
        except ValueError:
            try:
                seconds = email.utils.parsedate_to_datetime(value).timestamp() - time.time()
            except (ValueError, TypeError, OverflowError):
                continue
        if math.isfinite(seconds):
            return max(0.0, seconds)
    return None


def _chain(error: BaseException) -> list[BaseException]:
    chain: list[BaseException] = []
    link: BaseException | None = error
    while link is not None and len(chain) < 16:
        chain.append(link)
        link = link.__cause__ or link.__context__
    return chain
