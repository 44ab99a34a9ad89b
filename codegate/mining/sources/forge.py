"""A client of GitHub's API that expects the worst: limits, outages, halves of answers, and answers without end.

The token goes to the API's own address only: no redirect is followed elsewhere, no ``.netrc`` replaces it, and no
error message or file has it.
"""

import json
import re
import time
from dataclasses import dataclass
from typing import Any, Final
from urllib.parse import urlsplit

import requests
from requests.auth import AuthBase

from codegate.errors import InfrastructureError, UsageError

MAX_RESPONSE_BYTES: Final = 16 << 20

_TRIES: Final = 4
_CONNECT_SECONDS: Final = 10.0
_READ_SECONDS: Final = 30.0
_RESPONSE_SECONDS: Final = 90.0
_SECONDARY_LIMIT_SECONDS: Final = 60.0
_LOOPBACK: Final = frozenset({"127.0.0.1", "::1", "localhost"})
_NUMBER: Final = re.compile(r"\d{1,12}")


class ForgeError(InfrastructureError):
    """The forge could not be asked; what it had answered before is kept."""


class NoSuchApiError(ForgeError):
    """There is nothing under this address: GraphQL switched off, or a wrong address."""


class TooMuchError(ForgeError):
    """The question costs the forge more than it gives, or the answer is too large: ask for less."""


class _Token(AuthBase):
    def __init__(self, token: str) -> None:
        self._token = token

    def __call__(self, request: requests.PreparedRequest) -> requests.PreparedRequest:
        request.headers["Authorization"] = f"Bearer {self._token}"
        return request

    def __repr__(self) -> str:
        return "<token>"


class _NoToken(AuthBase):
    def __call__(self, request: requests.PreparedRequest) -> requests.PreparedRequest:
        return request


@dataclass(frozen=True)
class _Answer:
    status: int
    headers: dict[str, str]
    body: bytes


class Forge:
    """One API, asked one question at a time.

    Args:
        api_url: of REST, such as ``https://api.github.com`` or ``https://host/api/v3``.
        token: sent to that host; empty: none is.
        max_wait_seconds: most that all waiting for rate limits may take together.
        pause_seconds: the first pause before a question is repeated; each one after it is twice as long.

    Raises:
        UsageError: the address is no https address (http only on this machine), or the token no header can hold.
    """

    def __init__(
        self,
        api_url: str,
        token: str,
        session: requests.Session | None = None,
        max_wait_seconds: float = 300.0,
        pause_seconds: float = 1.0,
    ) -> None:
        self._url = _checked_url(api_url)
        if token and not re.fullmatch(r"[!-~]{1,1000}", token):
            raise UsageError("the forge's token has characters that a token cannot have.", "Check how it is set.")
        self._auth: AuthBase = _Token(token) if token else _NoToken()
        self.may_query = bool(token)
        self._session = session or requests.Session()
        self._waits = max_wait_seconds
        self._pause = pause_seconds

    def get(self, path: str) -> Any:
        """Return the JSON of a REST address, or None where there is nothing.

        Raises:
            ForgeError: no answer that could be used.
            UsageError: the token was refused.
        """
        try:
            return self._ask("GET", f"{self._url}{path}", None)
        except NoSuchApiError:
            return None

    def query(self, document: str, variables: dict[str, Any]) -> dict[str, Any]:
        """Return the ``data`` of a GraphQL answer; what could not be resolved in it is null.

        Raises:
            NoSuchApiError: this forge has no GraphQL.
            TooMuchError: the forge gave up on the question.
            ForgeError: no answer that could be used.
            UsageError: the token was refused.
        """
        base = self._url.removesuffix("/v3") if self._url.endswith("/api/v3") else self._url
        answer = self._ask("POST", f"{base}/graphql", {"query": document, "variables": variables})
        data = answer.get("data") if isinstance(answer, dict) else None
        if not isinstance(data, dict):
            raise TooMuchError(f"{base}/graphql answered without data.", "Run again later.")
        return data

    def _ask(self, method: str, url: str, question: dict[str, Any] | None) -> Any:
        pause, problem = self._pause, ""
        for attempt in range(_TRIES):
            if attempt:
                time.sleep(pause)
                pause *= 2
            try:
                answer = self._wait_for_limits(method, url, question)
            except requests.RequestException as error:
                problem = type(error).__name__
                continue
            if answer.status >= 500:
                problem = f"HTTP {answer.status}"
                continue
            self._refuse(answer, url)
            try:
                return json.loads(answer.body)
            except (ValueError, RecursionError):
                problem = "an answer that is no JSON"
        kind = TooMuchError if problem.startswith("HTTP 5") and question is not None else ForgeError
        raise kind(f"{url} did not answer ({problem}, {_TRIES} times).", "Run again later; what was fetched is kept.")

    def _wait_for_limits(self, method: str, url: str, question: dict[str, Any] | None) -> _Answer:
        while True:
            answer = self._send(method, url, question)
            seconds = _limited(answer)
            if seconds is None:
                return answer
            if seconds > self._waits:
                raise ForgeError(
                    f"{url} allows no more questions for {seconds:.0f} s (rate limit).",
                    "Run again then; what was fetched is kept. With a token the limit is higher.",
                )
            self._waits -= max(seconds, 0.1)
            time.sleep(seconds)

    def _send(self, method: str, url: str, question: dict[str, Any] | None) -> _Answer:
        headers = {"Accept": "application/vnd.github+json", "User-Agent": "codegate"}
        started = time.monotonic()
        with self._session.request(
            method, url, json=question, headers=headers, auth=self._auth, allow_redirects=False, stream=True,
            timeout=(_CONNECT_SECONDS, _READ_SECONDS),
        ) as response:  # fmt: skip
            body = bytearray()
            for chunk in response.iter_content(1 << 16):
                body += chunk
                if len(body) > MAX_RESPONSE_BYTES:
                    raise TooMuchError(f"{url} answered with more than {MAX_RESPONSE_BYTES >> 20} MiB.")
                if time.monotonic() - started > _RESPONSE_SECONDS:
                    raise TooMuchError(f"{url} took longer than {_RESPONSE_SECONDS:.0f} s to answer.")
            return _Answer(response.status_code, {k.lower(): v for k, v in response.headers.items()}, bytes(body))

    def _refuse(self, answer: _Answer, url: str) -> None:
        if answer.status in (404, 405, 410, 501):
            raise NoSuchApiError(f"{url} is not there (HTTP {answer.status}).", "Check the API's address.")
        if answer.status in (401, 403):
            raise UsageError(
                f"{url} refused the token (HTTP {answer.status}).",
                "Give one that may read this repository's issues and pull requests.",
            )
        if answer.status != 200:
            raise ForgeError(f"{url} answered HTTP {answer.status}.", "Check the API's address and the repository.")


def _checked_url(api_url: str) -> str:
    parts = urlsplit(api_url)
    plain = parts.scheme == "https" or (parts.scheme == "http" and parts.hostname in _LOOPBACK)
    if not plain or not parts.hostname or "@" in parts.netloc or parts.query or parts.fragment:
        raise UsageError(
            f"{parts.scheme}://{parts.hostname or ''} is not the address of an API.",
            "Give an https address such as https://api.github.com or https://HOST/api/v3.",
        )
    return api_url.rstrip("/")


def _limited(answer: _Answer) -> float | None:
    """Return how many seconds the forge wants to be left alone, or None when it answered.

    See "Rate limits for the REST API" and "Rate limits and query limits for the GraphQL API" in GitHub's documentation.
    """
    headers = answer.headers
    spent = headers.get("x-ratelimit-remaining") == "0"
    if answer.status == 200:
        if not spent or b'"RATE_LIMITED"' not in answer.body[:4096]:
            return None
    elif answer.status not in (403, 429) or (
        answer.status == 403 and not spent and "retry-after" not in headers and b"rate limit" not in answer.body[:4096]
    ):
        return None
    after = headers.get("retry-after", "")
    if _NUMBER.fullmatch(after):
        return float(after)
    reset = headers.get("x-ratelimit-reset", "")
    if spent and _NUMBER.fullmatch(reset):
        return max(0.0, float(reset) - time.time()) + 1
    return _SECONDARY_LIMIT_SECONDS
