"""Send a request to GitHub's REST API.

The token goes only to the API's own address: this module follows redirects itself and sends no token to other
addresses, reads no ``.netrc``, and removes the token from error texts. A request is repeated if the answer may differ
the next time; a POST that changes something is repeated only if GitHub certainly did not carry it out. Protocol:
docs.github.com/rest, "Best practices", "Rate limits" and "Troubleshooting".
"""

import contextlib
import logging
import re
import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import urljoin, urlsplit

from codegate.errors import InfrastructureError, UsageError
from codegate.strict import parse_json, printable

if TYPE_CHECKING:
    import requests

MAX_ANSWER_BYTES: Final = 16 << 20
DEFAULT_API: Final = "https://api.github.com"

JSON: Final = "application/vnd.github+json"
GRAPHQL: Final = "graphql"
_TRIES: Final = 4
_HOPS: Final = 5
_TIMEOUTS: Final = (10.0, 30.0)  # seconds to connect, and between two bytes
_ANSWER_SECONDS: Final = 90.0
_SECONDARY_LIMIT_SECONDS: Final = 60.0
_NUMBER: Final = re.compile(r"\d{1,12}")
_PERMISSION: Final = re.compile(r"([a-z_]{1,40})=(read|write|admin)")
_PATH: Final = re.compile(r"(?:(?!\.{1,2}(?:/|$))[A-Za-z0-9._~!$&'()*+,;=:@%-]+(?:/|$))+")
_PERMISSIONS: Final = (  # for paths whose permission GitHub does not name; others need `contents`
    (re.compile(r"/issues/comments/|/issues/\d+/comments|/pulls(?:/|$)|/commits/[^/]+/pulls$"), "pull-requests"),
    (re.compile(r"/issues(?:/|$)|/labels(?:/|$)"), "issues"),
    (re.compile(r"/check-(?:runs|suites)(?:/|$)"), "checks"),
    (re.compile(r"/actions/"), "actions"),
)


class GitHubError(InfrastructureError):
    """A request to GitHub failed.

    Attributes:
        status: HTTP status of GitHub's last answer; None without one.
        uncertain: whether GitHub may have made the requested change.
    """

    def __init__(self, cause: str, remedy: str = "", *, status: int | None = None, uncertain: bool = False) -> None:
        super().__init__(cause, remedy)
        self.status, self.uncertain = status, uncertain


class Forbidden(GitHubError):
    """The token lacks a ``permission``, such as ``issues: write``."""

    def __init__(self, cause: str, permission: str) -> None:
        remedy = (
            f"Give the job `permissions: {permission}`; the token of a run that a fork's pull request started can "
            "only read, whatever the workflow says."
        )
        super().__init__(cause, remedy, status=403)
        self.permission = permission


class NotFound(GitHubError):
    """The resource does not exist, or the token lacks access."""


class Gone(GitHubError):
    """The resource existed and was removed."""


class AnswerTooLarge(GitHubError):
    """The answer is too large, or takes GitHub too long."""


@dataclass(frozen=True)
class Request:
    """One request to the API.

    Attributes:
        changes: whether repeating the request could make the same change twice.
        may_leave_api: whether the answer may come from another address than the API's.
        most: largest body of the answer in bytes.
        seconds: time limit for reading the body.
    """

    method: str
    path: str
    query: Mapping[str, str | int]
    body: Mapping[str, Any] | None = None
    changes: bool = False
    may_leave_api: bool = False
    most: int = MAX_ANSWER_BYTES
    seconds: float = _ANSWER_SECONDS
    accept: str = JSON

    def __str__(self) -> str:
        return f"GitHub: {self.method} {self.path}"


@dataclass(frozen=True)
class Reply:
    """An answer of GitHub.

    ``next_page`` is the address of a list's next page, None after the last one.
    """

    status: int
    headers: Mapping[str, str]
    body: bytes
    next_page: str | None


class Transport:
    """Sends requests to one GitHub; ``GitHub`` documents the arguments."""

    def __init__(self, api_url: str, token: str | None, max_wait_seconds: float, pause_seconds: float) -> None:
        self._api_url = _checked_url(api_url)
        self._root = re.sub(r"(?<=/api)/v3$", "", self._api_url)  # GraphQL is beside an Enterprise server's /api/v3
        if token and not re.fullmatch(r"[!-~]{1,4000}", token):
            raise UsageError("the GitHub token has characters that a token cannot have.", "Check how it is set.")
        self._token = token or None
        import requests  # noqa: PLC0415 - a tenth of the imports of commands that ask no GitHub

        self._session = requests.Session()
        self._session.adapters.clear()  # an address of any other scheme is an error, also in a redirect
        for scheme in {"https", urlsplit(self._api_url).scheme}:
            self._session.mount(f"{scheme}://", requests.adapters.HTTPAdapter())
        self._session.headers.update(
            {"User-Agent": "codegate", "Accept-Encoding": "identity", "X-GitHub-Api-Version": "2022-11-28"}
        )
        self._waits, self._pause = max_wait_seconds, pause_seconds
        logging.getLogger("urllib3").setLevel(logging.INFO)  # its debug log has signed addresses

    def ask(self, request: Request) -> Reply:
        """Return the answer to a request, after retries.

        Raises:
            GitHubError: there is no answer, or it is an error.
        """
        import requests  # noqa: PLC0415

        pause, problem, status = self._pause, "", None
        for attempt in range(_TRIES):
            if attempt:
                time.sleep(pause)
                pause *= 2
            uncertain = request.changes
            try:
                answer = self._within_limits(request)
            except requests.RequestException as error:
                problem, status = type(error).__name__, None
                uncertain = uncertain and not _never_sent(error)
            else:
                if answer.status < 500:
                    self._refuse(request, answer)
                    return answer
                problem, status = f"HTTP {answer.status}", answer.status
            if uncertain:
                break
        kind = AnswerTooLarge if status is not None and request.path == GRAPHQL else GitHubError
        raise kind(
            f"{request} did not succeed ({problem}, {attempt + 1} tries).",
            "See www.githubstatus.com and run again later.",
            status=status,
            uncertain=uncertain,
        )

    def _within_limits(self, request: Request) -> Reply:
        while True:
            answer = self._follow(request)
            seconds = _seconds_to_wait(answer)
            if seconds is None:
                return answer
            if seconds > self._waits:
                raise GitHubError(
                    f"{request} is not allowed for another {seconds:.0f} s (rate limit).",
                    "Run again then." if self._token else "Run again then; with a token the limit is higher.",
                    status=429,  # GitHub also sends 403 for a rate limit
                )
            self._waits -= max(seconds, 0.1)
            time.sleep(seconds)

    def _follow(self, request: Request) -> Reply:
        """Send the request and follow redirects; return the last answer.

        Requests to addresses outside the API carry no token.
        """
        url, headers = self._url(request.path), {"Accept": request.accept}
        if self._token:
            headers["Authorization"] = f"Bearer {self._token}"
        for _ in range(_HOPS):
            with self._session.request(
                request.method, url, params=dict(request.query), json=request.body, headers=headers, auth=_unchanged,
                allow_redirects=False, stream=True, timeout=_TIMEOUTS,
            ) as response:  # fmt: skip
                if not response.is_redirect or request.method != "GET":
                    return _read(request, response)
                url = urljoin(url, response.headers["location"])
                stored = request.may_leave_api and response.status_code in {302, 303}
            # A renamed repository redirects within the API; a stored file is at another address.
            if stored or not self._is_api(url):
                headers.pop("Authorization", None)
            if not self._is_api(url) and not request.may_leave_api:
                raise GitHubError(f"{request} redirects to another place.")
        raise GitHubError(f"{request} redirects without end.")

    def _refuse(self, request: Request, answer: Reply) -> None:
        """Raise GitHubError for an answer whose status is an error."""
        if answer.status in {200, 201, 202, 204}:
            return
        cause = f"{request} answered HTTP {answer.status}{self._reason(answer)}."
        lacking = _missing(request, answer.headers)
        match answer.status:
            case 401:
                raise GitHubError(cause, "Check the input `github-token`.", status=401)
            case 403 if "locked" in cause:
                raise GitHubError(cause, "Unlock the conversation.", status=403)
            case 403 if "not permitted to create" in cause:
                setting = "Settings → Actions → General → Allow GitHub Actions to create and approve pull requests"
                raise GitHubError(cause, f"Turn on {setting}.", status=403)
            case 403:
                raise Forbidden(cause, lacking)
            case 404:
                raise NotFound(cause, f"It does not exist, or the token lacks `{lacking}`.", status=404)
            case 410:
                raise Gone(cause, status=410)
            case status:
                raise GitHubError(cause, status=status)

    def _reason(self, answer: Reply) -> str:
        document = None
        with contextlib.suppress(UsageError):
            document = parse_json(answer.body[:20_000].decode("utf-8", "replace"), "it")
        if not isinstance(document, dict):
            return ""
        errors = document.get("errors")
        parts = [document.get("message"), *(errors[:3] if isinstance(errors, list) else [])]
        texts = [part.get("message") or part.get("code") if isinstance(part, dict) else part for part in parts]
        reason = "; ".join(text for text in texts if isinstance(text, str) and text)
        if self._token:
            reason = reason.replace(self._token, "***")
        return f": {printable(' '.join(reason.split())).rstrip('.')}" if reason else ""

    def _is_api(self, url: str) -> bool:
        return url.startswith(f"{self._root}/")

    def _url(self, path: str) -> str:
        if not _PATH.fullmatch(path):
            raise UsageError(f"{printable(path)!r} is not a path of GitHub's API.")
        return f"{self._root if path == GRAPHQL else self._api_url}/{path}"


def _unchanged(request: "requests.PreparedRequest") -> "requests.PreparedRequest":
    return request  # without an `auth`, requests takes one from .netrc


def _checked_url(api_url: str) -> str:
    with contextlib.suppress(ValueError):
        parts = urlsplit(api_url)
        odd = "@" in parts.netloc or parts.query or parts.fragment or parts.port == 0
        if parts.scheme in {"https", "http"} and parts.hostname and not odd:
            return api_url.rstrip("/")
    raise UsageError(
        "the address of GitHub's API is not one.",
        "Give one such as https://api.github.com or https://HOST/api/v3 (in a workflow: GITHUB_API_URL).",
    )


def _read(request: Request, response: "requests.Response") -> Reply:
    started, body = time.monotonic(), bytearray()
    most = request.most if response.status_code < 300 else MAX_ANSWER_BYTES
    for chunk in response.iter_content(1 << 16):
        body += chunk
        if len(body) > most:
            raise AnswerTooLarge(f"{request} answered with more than {most} bytes.", status=200)
        if time.monotonic() - started > request.seconds:
            raise AnswerTooLarge(f"{request} took longer than {request.seconds:.0f} s to answer.")
    return Reply(response.status_code, response.headers, bytes(body), response.links.get("next", {}).get("url") or None)


def _seconds_to_wait(answer: Reply) -> float | None:
    """Return the seconds until a rate limit ends, or None."""
    spent = answer.headers.get("x-ratelimit-remaining") == "0"
    after = answer.headers.get("retry-after", "")
    start = answer.body[:4096]
    limited = {
        200: spent and b'"RATE_LIMITED"' in start,  # GraphQL
        403: spent or bool(after) or b"rate limit" in start,
        429: True,
    }
    if not limited.get(answer.status):
        return None
    if _NUMBER.fullmatch(after):
        return float(after)
    reset = answer.headers.get("x-ratelimit-reset", "")
    if spent and _NUMBER.fullmatch(reset):
        return max(0.0, float(reset) - time.time()) + 1
    return _SECONDARY_LIMIT_SECONDS


def _missing(request: Request, headers: Mapping[str, str]) -> str:
    """Return the permission that the token lacks for a request."""
    # The header lists sets of permissions. Any one set is enough; a set has one or more permissions.
    sets = headers.get("x-accepted-github-permissions", "")[:1000].split(";")
    named = [[f"{name.replace('_', '-')}: {level}" for name, level in _PERMISSION.findall(one)] for one in sets]
    if any(named):
        return " or ".join(" and ".join(one) for one in named if one)
    level = "read" if request.method == "GET" else "write"
    name = next((name for pattern, name in _PERMISSIONS if pattern.search(request.path)), "contents")
    return f"{name}: {level}"


def _never_sent(error: "requests.RequestException") -> bool:
    from requests import ConnectTimeout  # noqa: PLC0415
    from urllib3.exceptions import NewConnectionError  # noqa: PLC0415

    reason = getattr(error.args[0], "reason", None) if error.args else None
    return isinstance(error, ConnectTimeout) or isinstance(reason, NewConnectionError)
