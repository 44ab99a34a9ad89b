"""Read and change a repository on GitHub.

It reads JSON documents, paged lists, files and GraphQL answers, and sends changes. Protocol: docs.github.com/rest,
"Using pagination".
"""

import re
from collections.abc import Iterator, Mapping
from typing import Any, Final, Literal
from urllib.parse import parse_qsl, urlsplit

from codegate.errors import UsageError
from codegate.forge.transport import GRAPHQL, JSON, AnswerTooLarge, GitHubError, Reply, Request, Transport
from codegate.strict import parse_json, printable

MAX_PAGES: Final = 100  # pages of a hundred items

_DOWNLOAD_SECONDS: Final = 600.0
_REPOSITORY: Final = re.compile(r"(?!\.{1,2}/)[A-Za-z0-9._-]{1,100}/(?!\.{1,2}$)[A-Za-z0-9._-]{1,100}")

Method = Literal["POST", "PATCH", "PUT", "DELETE"]


class GitHub:
    """Client of one repository on one GitHub. Not thread-safe.

    Args:
        api_url: such as ``https://api.github.com`` or ``https://HOST/api/v3``.
        repository: ``owner/name``.
        token: sent to ``api_url`` only; None or empty: no token is sent.
        max_wait_seconds: longest time to wait for rate limits, in all.
        pause_seconds: the first pause before a request is repeated; each later one is twice as long.

    Raises:
        UsageError: an argument is malformed.
    """

    def __init__(
        self, api_url: str, repository: str, token: str | None, *, max_wait_seconds: float = 120.0,
        pause_seconds: float = 1.0,
    ) -> None:  # fmt: skip
        self._transport = Transport(api_url, token, max_wait_seconds, pause_seconds)
        if not _REPOSITORY.fullmatch(repository):
            raise UsageError(f"{printable(repository)!r} is not a repository.", "Give it as owner/name.")
        self.repository = repository

    def repo(self, path: str) -> str:
        """Return ``repos/OWNER/NAME/path``, a path of GitHub's API."""
        return f"repos/{self.repository}/{path}".rstrip("/")

    def get(self, path: str, **query: str | int) -> Any:
        """Return the JSON at ``path``, relative to the API's address.

        Raises:
            GitHubError: GitHub gave no answer, an error, or no JSON.
        """
        request = Request("GET", path, query)
        return _document(request, self._transport.ask(request))

    def pages(self, path: str, items: str | None = None, **query: str | int) -> Iterator[dict[str, Any]]:
        """Yield the items of a list, page by page.

        If the answer is an object, ``items`` is the key of the list in it.

        Raises:
            GitHubError: GitHub gave no answer, an error or no list, or there are more than ``MAX_PAGES`` pages.
        """
        request = Request("GET", path, {"per_page": "100"} | query)
        for _ in range(MAX_PAGES):
            answer = self._transport.ask(request)
            document = _document(request, answer)
            found = document.get(items) if items is not None and isinstance(document, dict) else document
            if not isinstance(found, list) or not all(isinstance(item, dict) for item in found):
                raise GitHubError(f"{request} answered with something else than a list.", status=200)
            yield from found
            if answer.next_page is None:
                return
            # Only the parameters of the next page's address are used, so that the token goes to no other host.
            request = Request("GET", path, dict(parse_qsl(urlsplit(answer.next_page).query)))
        raise GitHubError(f"{request} has more than {MAX_PAGES} pages.")

    def send(self, method: Method, path: str, body: Mapping[str, Any] | None = None) -> Any:
        """Send a change to GitHub; return the JSON answer.

        Raises:
            GitHubError: the request failed; ``uncertain`` tells whether GitHub may have made the change.
        """
        request = Request(method, path, {}, body, changes=method == "POST")
        return _document(request, self._transport.ask(request))

    def query(self, document: str, variables: Mapping[str, Any]) -> dict[str, Any]:
        """Return the ``data`` of a GraphQL answer.

        Parts that GitHub could not resolve are null.

        Raises:
            NotFound: this GitHub has no GraphQL.
            GitHubError: GitHub gave no answer, an error, or no data.
        """
        request = Request("POST", GRAPHQL, {}, {"query": document, "variables": variables})
        answer = _document(request, self._transport.ask(request))
        data = answer.get("data") if isinstance(answer, dict) else None
        if not isinstance(data, dict):
            raise AnswerTooLarge(f"{request} answered without data.", "Run again later.", status=200)
        return data

    def download(self, path: str, most: int, accept: str = JSON, **query: str) -> bytes:
        """Return a file of at most ``most`` bytes.

        ``accept`` is the media type to ask for. The API may redirect the request to any other address.

        Raises:
            GitHubError: GitHub gave no answer or an error, or the file is larger.
        """
        request = Request("GET", path, query, may_leave_api=True, most=most, seconds=_DOWNLOAD_SECONDS, accept=accept)
        return self._transport.ask(request).body


def _document(request: Request, answer: Reply) -> Any:
    if not answer.body:
        return None
    try:
        return parse_json(answer.body.decode("utf-8"), "it")
    except (UnicodeDecodeError, UsageError) as error:
        raise GitHubError(
            f"{request} answered with something that is no JSON.",
            "Check the API's address.",
            status=answer.status,
            uncertain=request.changes,
        ) from error
