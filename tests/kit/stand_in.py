"""The model providers at their own addresses: a proxy on this machine that ends TLS with an authority of its own.

SDKs, list prices, pinned names and agents are the real ones: the environment's variables alone lead here.
"""

import contextlib
import os
import socket
import ssl
import threading
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final
from urllib.parse import urlsplit

import certifi
import trustme

from codegate.candidates import CandidateSpec
from codegate.candidates.endpoint import owner_of
from codegate.candidates.providers import model_provider, provider_names
from tests.kit.http import Reply, Request, Server, as_json, tls_context
from tests.kit.scripted_model import Part, ScriptedModel

KEY: Final = "sk-canary-of-the-stand-in-0123456789"
_INDEXES: Final = ("pypi.org", "files.pythonhosted.org", "registry.npmjs.org")


class StandIn:
    """Plays every host that a provider of codegate has as its own, and refuses all others.

    Package indexes are reached past it. Its certificates are in ``folder``. At its own address it is a model server of
    this machine.

    Attributes:
        model: answers the calls; its ``requests`` are those of all hosts, in order.
        models: what the lists of models have, each with the day on which it ends or None.
        refused: the other hosts that were asked for.
        keys: the ``authorization`` headers of the requests for lists.
        environment: leads a process here, with a key for each provider.
        url: its own address.
    """

    def __init__(self, part: Part, folder: Path, served: Mapping[str, str] | None = None) -> None:
        self.model = ScriptedModel(part, served=served or {})
        self.models: dict[str, str | None] = {}
        self.refused: list[str] = []
        self.keys: set[str] = set()
        self._authority = trustme.CA()
        self._contexts: dict[str, ssl.SSLContext] = {}
        self._lock = threading.Lock()
        self._server = Server(self._respond)
        self.url = self._server.url
        self.environment = self._variables(folder / "authorities.pem")

    def __enter__(self) -> "StandIn":
        return self

    def __exit__(self, *_: object) -> None:
        self._server.close()

    def _variables(self, bundle: Path) -> dict[str, str]:
        known = os.environ.get("SSL_CERT_FILE") or ssl.get_default_verify_paths().cafile or certifi.where()
        bundle.write_bytes(Path(known).read_bytes() + b"\n" + self._authority.cert_pem.bytes())
        indexes = [urlsplit(value).hostname for name, value in os.environ.items() if "INDEX" in name]
        direct = ",".join(["127.0.0.1", "localhost", *_INDEXES, *(name for name in indexes if name)])
        return {
            **{name: self.url for each in ("HTTPS_PROXY", "HTTP_PROXY") for name in (each, each.lower())},
            **dict.fromkeys(("NO_PROXY", "no_proxy"), direct),
            **dict.fromkeys(("SSL_CERT_FILE", "REQUESTS_CA_BUNDLE", "NODE_EXTRA_CA_CERTS"), str(bundle)),
            **{model_provider(name).key_variable: KEY for name in provider_names()},
        }

    def _respond(self, request: Request) -> Reply:
        own = CandidateSpec.model_construct(provider="openai", base_url=f"https://{request.host}")
        if request.method == "CONNECT" and owner_of(own) is not None:
            return Reply(upgraded=lambda connection: self._end_tls(request.host, connection))
        if request.method == "CONNECT" or "://" in request.path:
            self.refused.append(request.host)
            return Reply(b"This host is not played.", 403)
        if request.method == "GET" and request.path.partition("?")[0].endswith("/models"):
            self.keys.add(request.headers.get("authorization", ""))
            listed = [_entry(name, ends) for name, ends in self.models.items()]
            return as_json({"object": "list", "data": listed, "has_more": False})
        model = str(request.body.get("model")) if request.method == "POST" else ""
        ends = self.models.get(model)
        if ends is not None and ends <= datetime.now(UTC).date().isoformat():
            message = f"The model `{model}` has been deprecated."
            return as_json({"error": {"message": message, "code": "model_not_found"}}, 404)
        return self.model.respond(request)

    def _end_tls(self, host: str, connection: socket.socket) -> None:
        with self._lock:
            if host not in self._contexts:
                self._contexts[host] = tls_context(self._authority, host)
        connection.sendall(b"HTTP/1.1 200 Connection established\r\n\r\n")
        with contextlib.suppress(OSError), self._contexts[host].wrap_socket(connection, server_side=True) as plain:
            self._server.serve(plain)


def _entry(name: str, ends: str | None) -> dict[str, Any]:
    """Return a model as OpenAI's and Anthropic's lists have it."""
    entry = {"id": name, "object": "model", "type": "model", "created": 1, "display_name": name}
    return entry if ends is None else {**entry, "shutdown_date": ends}
