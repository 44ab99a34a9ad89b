"""A client of GitHub's REST API, for an action that is run on pages which anybody may write to.

The token goes to the API's own address and nowhere else: redirects are followed here, without it, no ``.netrc``
replaces it, and no error text has it. A question is repeated where the answer may differ the next time; something is
told a second time only where the first time cannot have counted.
Protocol: docs.github.com/rest, "Best practices", "Rate limits", "Using pagination" and "Troubleshooting".
"""

import logging
import re
import time
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final, Literal
from urllib.parse import parse_qsl, urljoin, urlsplit

import requests
from requests.auth import AuthBase
from urllib3.exceptions import NewConnectionError

from codegate.errors import UsageError
from codegate.github.answer import Answer, Forbidden, GitHubError, Gone, NotFound, refuse, seconds_to_wait
from codegate.strict import parse_json

__all__ = ["DEFAULT_API", "Forbidden", "GitHub", "GitHubError", "Gone", "Method", "NotFound"]

MAX_ANSWER_BYTES: Final = 16 << 20
MAX_PAGES: Final = 100
DEFAULT_API: Final = "https://api.github.com"

_JSON: Final = "application/vnd.github+json"
_TRIES: Final = 4
_HOPS: Final = 5
_TIMEOUTS: Final = (10.0, 30.0)  # to connect, and between two bytes
_ANSWER_SECONDS: Final = 90.0
_DOWNLOAD_SECONDS: Final = 600.0
_REDIRECTS: Final = frozenset({301, 302, 303, 307, 308})
_NEXT: Final = re.compile(r'<([^<>\s]{1,2000})>\s*;\s*rel="next"')
_REPOSITORY: Final = re.compile(r"(?!\.{1,2}/)[A-Za-z0-9._-]{1,100}/(?!\.{1,2}$)[A-Za-z0-9._-]{1,100}")
_PATH: Final = re.compile(r"(?:(?!\.{1,2}(?:/|$))[A-Za-z0-9._~!$&'()*+,;=:@%-]+(?:/|$))+")

Method = Literal["POST", "PATCH", "PUT", "DELETE"]


class _Token(AuthBase):
    def __init__(self, token: str | None) -> None:
        self._token = token

    def __call__(self, request: requests.PreparedRequest) -> requests.PreparedRequest:
        if self._token:
            request.headers["Authorization"] = f"Bearer {self._token}"
        return request

    def __repr__(self) -> str:
        return "<token>"


_NO_TOKEN: Final = _Token(None)  # given on every request, or else requests looks for a .netrc


class GitHub:
    """One repository on one GitHub. Not for several threads at once.

    Args:
        api_url: such as ``https://api.github.com`` or ``https://HOST/api/v3``.
        repository: ``owner/name``.
        token: sent to that address; None or empty: none is.
        max_wait_seconds: most that all waiting for rate limits may take together.
        pause_seconds: the first pause before something is repeated; each one after it is twice as long.

    Raises:
        UsageError: one of them is not such a thing.
    """

    def __init__(
        self,
        api_url: str,
        repository: str,
        token: str | None,
        *,
        max_wait_seconds: float = 120.0,
        pause_seconds: float = 1.0,
    ) -> None:
        self.api_url = _checked_url(api_url)
        if not _REPOSITORY.fullmatch(repository):
            raise UsageError(f"{repository[:200]!r} is no repository.", "It is written owner/name.")
        self.repository = repository
        if token and not re.fullmatch(r"[!-~]{1,4000}", token):
            raise UsageError("the input `github-token` has characters that a token cannot have.")
        self._token = token or None
        self._auth = _Token(self._token)
        self._session = requests.Session()
        self._waits = max_wait_seconds
        self._pause = pause_seconds
        logging.getLogger("urllib3").setLevel(logging.INFO)  # it would print addresses that are signed

    @classmethod
    def from_environment(cls, environment: Mapping[str, str], token: str | None) -> "GitHub":
        """Return the client of the repository that the workflow runs for, on the GitHub that runs it.

        Raises:
            UsageError: ``GITHUB_REPOSITORY`` or ``GITHUB_API_URL`` is missing or unusable.
        """
        return cls(environment.get("GITHUB_API_URL") or DEFAULT_API, environment.get("GITHUB_REPOSITORY", ""), token)

    def repo(self, path: str) -> str:
        """Return the path of something in the repository, for the methods below."""
        return f"repos/{self.repository}/{path}".rstrip("/")

    def get(self, path: str, **query: str | int) -> Any:
        """Return the JSON at ``path``, which is relative to the API's address.

        Raises:
            GitHubError: no answer that can be used.
        """
        return self._document("GET", path, self._ask("GET", path, _words(query), None))

    def pages(
        self, path: str, items: str | None = None, *, most_pages: int = MAX_PAGES, **query: str | int
    ) -> Iterator[dict[str, Any]]:
        """Yield what all pages of a list hold, one page asked for at a time.

        Args:
            path: as for ``get``.
            items: key of the list, where the answer is an object.
            most_pages: of a hundred items each.
            query: further parameters.

        Raises:
            GitHubError: as ``get``; or there are more pages.
        """
        asked = {"per_page": "100"} | _words(query)
        for _ in range(most_pages):
            answer = self._ask("GET", path, asked, None)
            document = self._document("GET", path, answer)
            found = document.get(items) if items is not None and isinstance(document, dict) else document
            if not isinstance(found, list) or not all(isinstance(item, dict) for item in found):
                raise GitHubError(f"GitHub: GET {path} answered with something else than a list.", status=answer.status)
            yield from found
            following = _NEXT.search(answer.headers.get("link", ""))
            if following is None:
                return
            # Its parameters alone: whatever address it names, the token stays at home.
            asked = dict(parse_qsl(urlsplit(following[1]).query))
        raise GitHubError(f"GitHub: GET {path} has more than {most_pages} pages.")

    def send(self, method: Method, path: str, body: Mapping[str, Any] | None = None) -> Any:
        """Tell GitHub to do something and return its JSON, None where it says nothing.

        A POST is repeated only where the first one was not carried out for certain.

        Raises:
            GitHubError: it did not, or (``uncertain``) may not have done it.
        """
        return self._document(method, path, self._ask(method, path, {}, body))

    def download(self, path: str, most: int, accept: str = _JSON) -> bytes:
        """Return a file of at most ``most`` bytes, from wherever the API says that it is.

        Raises:
            GitHubError: as ``get``; or it is larger, or somewhere that is not asked.
        """
        answer = self._repeat("GET", path, lambda: self._fetch(path, most, accept))
        refuse("GET", path, answer, self._token)
        return answer.body

    def _ask(self, method: str, path: str, query: Mapping[str, str], body: Mapping[str, Any] | None) -> Answer:
        url = self._url(path)

        def once() -> Answer:
            there = url
            for _ in range(_HOPS):
                answer = self._exchange(method, there, self._auth, query, body)
                moved = self._moved(there, answer)
                if moved is None or method != "GET":
                    return answer
                if not self._is_api(moved):
                    raise GitHubError(f"GitHub: GET {path} redirects to another place.", status=answer.status)
                there = moved
            raise GitHubError(f"GitHub: GET {path} redirects without end.", status=answer.status)

        answer = self._repeat(method, path, once)
        refuse(method, path, answer, self._token)
        return answer

    def _fetch(self, path: str, most: int, accept: str) -> Answer:
        there, auth = self._url(path), self._auth
        for _ in range(_HOPS):
            answer = self._exchange("GET", there, auth, {}, None, most, accept, _DOWNLOAD_SECONDS)
            moved = self._moved(there, answer)
            if moved is None:
                return answer
            # A repository that was renamed is still the API's; where a file is stored is not.
            stays = answer.status in {301, 307, 308} and self._is_api(moved) and auth is self._auth
            there, auth = moved, self._auth if stays else _NO_TOKEN
        raise GitHubError(f"GitHub: GET {path} redirects without end.", status=answer.status)

    def _repeat(self, method: str, path: str, once: Callable[[], Answer]) -> Answer:
        pause, problem, status, uncertain = self._pause, "", None, False
        for attempt in range(_TRIES):
            if attempt:
                time.sleep(pause)
                pause *= 2
            try:
                answer = self._within_limits(method, path, once)
            except requests.RequestException as error:
                problem, status = type(error).__name__, None
                uncertain = method == "POST" and not _never_sent(error)
                if uncertain:
                    break
                continue
            if answer.status < 500:
                return answer
            problem, status = f"HTTP {answer.status}", answer.status
            uncertain = method == "POST"
            if uncertain:
                break
        raise GitHubError(
            f"GitHub: {method} {path} did not succeed ({problem}, {attempt + 1} tries).",
            "See www.githubstatus.com and run again later.",
            status=status,
            uncertain=uncertain,
        )

    def _within_limits(self, method: str, path: str, once: Callable[[], Answer]) -> Answer:
        while True:
            answer = once()
            seconds = seconds_to_wait(answer)
            if seconds is None:
                return answer
            if seconds > self._waits:
                raise GitHubError(
                    f"GitHub: {method} {path} is not allowed for another {seconds:.0f} s (rate limit).",
                    "Run again then.",
                    status=answer.status,
                )
            self._waits -= max(seconds, 0.1)
            time.sleep(seconds)

    def _exchange(
        self,
        method: str,
        url: str,
        auth: AuthBase,
        query: Mapping[str, str],
        body: Mapping[str, Any] | None,
        most: int = MAX_ANSWER_BYTES,
        accept: str = _JSON,
        seconds: float = _ANSWER_SECONDS,
    ) -> Answer:
        headers = {"Accept": accept, "Accept-Encoding": "identity", "User-Agent": "codegate"}
        headers |= {"X-GitHub-Api-Version": "2022-11-28"} if self._is_api(url) else {}
        where = f"{method} {urlsplit(url).path if self._is_api(url) else urlsplit(url).hostname}"
        started = time.monotonic()
        with self._session.request(
            method, url, params=dict(query), json=None if body is None else dict(body), headers=headers, auth=auth,
            allow_redirects=False, stream=True, timeout=_TIMEOUTS,
        ) as response:  # fmt: skip
            found = bytearray()
            for chunk in response.iter_content(1 << 16):
                found += chunk
                if len(found) > (most if response.status_code < 300 else MAX_ANSWER_BYTES):
                    raise GitHubError(f"GitHub: {where} answered with more than {most} bytes.", status=200)
                if time.monotonic() - started > seconds:
                    raise GitHubError(f"GitHub: {where} took longer than {seconds:.0f} s to answer.")
            return Answer(response.status_code, {k.lower(): v for k, v in response.headers.items()}, bytes(found))

    def _moved(self, url: str, answer: Answer) -> str | None:
        """Return where an answer redirects to, None where it does not."""
        if answer.status not in _REDIRECTS or "location" not in answer.headers:
            return None
        target = urljoin(url, answer.headers["location"])
        parts = urlsplit(target)
        secure = parts.scheme == "https" or (parts.scheme == "http" and self.api_url.startswith("http://"))
        if not secure or not parts.hostname or "@" in parts.netloc:
            raise GitHubError("GitHub redirects to an address that is not https.", status=answer.status)
        return target

    def _is_api(self, url: str) -> bool:
        return url.startswith(f"{self.api_url}/")

    def _url(self, path: str) -> str:
        if not _PATH.fullmatch(path):
            raise UsageError(f"{path[:200]!r} is no path of GitHub's API.")
        return f"{self.api_url}/{path}"

    def _document(self, method: str, path: str, answer: Answer) -> Any:
        if not answer.body:
            return None
        try:
            return parse_json(answer.body.decode("utf-8"), "it")
        except (UnicodeDecodeError, UsageError) as error:
            raise GitHubError(
                f"GitHub: {method} {path} answered with something that is no JSON.",
                "Check the API's address.",
                status=answer.status,
                uncertain=method == "POST",
            ) from error


def _checked_url(api_url: str) -> str:
    try:
        parts = urlsplit(api_url)
        usable = parts.scheme in {"https", "http"} and parts.hostname and parts.port != 0
    except ValueError:
        usable = False
    if not usable or "@" in parts.netloc or parts.query or parts.fragment:
        raise UsageError(
            "GITHUB_API_URL is not the address of an API.",
            "It is one such as https://api.github.com or https://HOST/api/v3.",
        )
    return api_url.rstrip("/")


def _words(query: Mapping[str, str | int]) -> dict[str, str]:
    return {name: str(value) for name, value in query.items()}


def _never_sent(error: requests.RequestException) -> bool:
    reason = getattr(error.args[0], "reason", None) if error.args else None
    return isinstance(error, requests.ConnectTimeout) or isinstance(reason, NewConnectionError)
