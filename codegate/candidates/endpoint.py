"""Check base URLs, and bind API keys to them."""

import contextlib
import ipaddress
import os
import re
import socket
from collections.abc import Callable
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Final, TypeAlias

from codegate.candidates.providers import model_provider, provider_names
from codegate.errors import UsageError
from codegate.wording import documentation

if TYPE_CHECKING:
    from codegate.candidates.spec import CandidateSpec

NO_KEY: Final = "none"
"""Placeholder for the key of a local server that has none, because the SDKs require a key."""

# A narrow grammar instead of a URL parser: all parsers agree about the host of a URL that matches it.
_URL = re.compile(
    r"(?P<scheme>https?)://(?P<host>\[[0-9A-Fa-f:.]+\]|[A-Za-z0-9.-]+)(:(?P<port>\d{1,5}))?(?P<path>/[A-Za-z0-9._~/-]*)?"
)
_RULE: Final = (
    "A base URL is https://host[:port][/path], or http:// to this machine (localhost, 127.0.0.1, [::1]) or, with "
    "`allow_http: true` on the candidate in codegate.yml, to a private address; without user name, query or fragment: "
    "the key and the repository's source go there."
)


class MissingKey(UsageError):
    """The environment ``variable`` of a needed key is not set."""

    def __init__(self, cause: str, remedy: str, variable: str) -> None:
        super().__init__(cause, remedy)
        self.variable = variable


_Address: TypeAlias = ipaddress.IPv4Address | ipaddress.IPv6Address


@dataclass(frozen=True)
class Endpoint:
    """A checked address and its key, which ``repr`` hides."""

    base_url: str
    key: str = field(repr=False)
    key_variable: str
    official: bool
    direct: bool
    """Whether no proxy is used, because the address is this machine's or is unencrypted."""
    source: Callable[[], str] | None = None
    """Function that returns the key if no variable holds it. It is called again if the server refuses the key."""


def check_base_url(url: str, *, allow_http: bool = False) -> bool:
    """Check a base URL; return whether it is local.

    Allowed are https, and http to this machine. ``allow_http`` also allows http to private addresses; names are
    resolved and checked when they are used.

    Raises:
        UsageError: any other URL, user information, a link-local address or an unusual spelling of a host.
    """
    match = _URL.fullmatch(url)
    if match is None and "://" not in url and _URL.fullmatch(f"http://{url}"):
        raise UsageError(f"base URL {url!r} has no scheme.", f"Write https://{url}, or http://{url} on this machine.")
    if match is None or int(match["port"] or 1) not in range(1, 65536):
        raise UsageError(f"base URL {_without_userinfo(url)} is not allowed.", _RULE)
    host = match["host"].strip("[]").lower()
    address = _address(host, url)
    loopback = host == "localhost" or (address is not None and address.is_loopback)
    if address is not None and (address.is_link_local or address.is_unspecified or address.is_multicast):
        raise UsageError(f"base URL {url!r} is a link-local or special address.", _RULE)
    private = allow_http and (address is None or address.is_private)
    if match["scheme"] == "http" and not loopback and not private:
        raise UsageError(f"base URL {url!r} would send the key and the source unencrypted.", _RULE)
    return loopback


def nothing_listens(base_url: str) -> bool:
    """Return whether nothing listens at a base URL's local port."""
    match = _URL.fullmatch(base_url)
    if match is None or not check_base_url(base_url, allow_http=True):
        return False
    port = int(match["port"] or (443 if match["scheme"] == "https" else 80))
    try:
        socket.create_connection((match["host"].strip("[]"), port), timeout=2.0).close()
    except ConnectionRefusedError:
        return True
    except OSError:
        return False
    return False


def owner_of(spec: "CandidateSpec") -> str | None:
    """Return the provider whose models are at the candidate's address.

    The address can be a customer's own, such as an Azure resource. None if no provider's models are there.
    """
    if spec.base_url is None:
        return spec.provider
    for owner in provider_names():
        with contextlib.suppress(UsageError):  # a provider's package may be broken
            found = model_provider(owner)
            if _has_host(spec.base_url, (*found.hosts, *found.customer_hosts)):
                return owner
    return None


def is_own_address(spec: "CandidateSpec") -> bool:
    """Return whether the candidate's address is the provider's, over https."""
    if spec.base_url is None:
        return True
    match = _URL.fullmatch(spec.base_url)
    encrypted = match is not None and match["scheme"] == "https" and match["port"] in {None, "443"}
    return encrypted and _has_host(spec.base_url, model_provider(spec.provider).hosts)


def _has_host(base_url: str, patterns: tuple[str, ...]) -> bool:
    match = _URL.fullmatch(base_url)
    host = match["host"].lower().rstrip(".") if match else ""
    return any(host.count(".") == pattern.count(".") and fnmatchcase(host, pattern) for pattern in patterns)


def find_key(spec: "CandidateSpec", command: Callable[[], str] | None) -> tuple[str, Callable[[], str] | None]:
    """Return the candidate's key, and the function that renews it.

    The key is "" if there is none. The function is None if an environment variable holds the key. ``command`` runs the
    candidate's ``api_key_command``, if it has one.
    """
    found = model_provider(spec.provider)
    key = "" if command else os.environ.get(spec.api_key_env or found.key_variable, "").strip()
    source = None if key or spec.api_key_env else command or found.own_key
    return source() if source is not None else key, source


def resolve_endpoint(spec: "CandidateSpec", command: Callable[[], str] | None = None) -> Endpoint:
    """Return the candidate's address and key.

    ``command`` runs the candidate's ``api_key_command``, if it has one.

    Raises:
        UsageError: the base URL is not allowed, resolves to a public address over http, or needs a key that is not set;
            or the environment has another address for the provider.
    """
    base_url = spec.base_url
    if base_url is None:
        _check_address_variable(spec)
    loopback = check_base_url(base_url, allow_http=spec.allow_http) if base_url is not None else False
    direct = loopback or (base_url is not None and base_url.startswith("http://"))
    if base_url is not None and direct and not loopback:
        _check_resolved(base_url)
    found = model_provider(spec.provider)
    address = base_url or (found.address if isinstance(found.address, str) else found.address())
    variable = spec.api_key_env or found.key_variable
    key, source = find_key(spec, command)
    if not key and direct:
        key = NO_KEY
    if not key:
        others = "".join(f" {name} is not used: {why}." for name, why in found.not_keys.items() if os.environ.get(name))
        raise MissingKey(
            f"{spec.provider} needs a key and the environment variable {variable} is not set.{others}",
            f"Set {variable}, or name another variable with `api_key_env` in codegate.yml; what else a provider "
            f"takes: {documentation('candidates.md')}.",
            variable,
        )
    if not key.isascii() or not key.isprintable():
        raise UsageError(
            f"the key in {variable} has non-printable or non-ASCII characters, such as a line break.",
            f"Set {variable} again.",
        )
    return Endpoint(
        base_url=address,
        key=key,
        key_variable="`api_key_command`" if command else variable,
        official=owner_of(spec) is not None,
        direct=direct,
        source=source,
    )


def _check_address_variable(spec: "CandidateSpec") -> None:
    """Raise UsageError if the provider's SDK would take another address.

    The key then probably belongs to that address, but a candidate without a ``base_url`` would send it to the provider.
    """
    variable = model_provider(spec.provider).address_variable
    named = os.environ.get(variable, "").strip() if variable else ""
    if named and not is_own_address(spec.model_copy(update={"base_url": named})):
        raise UsageError(
            f"candidate {spec.label}: {variable} is set, and no address is taken from the environment: the key would "
            f"go to {spec.provider} itself.",
            f"Set `base_url` of the candidate in codegate.yml to that address, or unset {variable}.",
        )


def _check_resolved(url: str) -> None:
    """Raise UsageError if an http host has forbidden addresses.

    Public and link-local addresses are forbidden. ``url`` begins with ``http://``.
    """
    match = _URL.fullmatch(url)
    host = match["host"].strip("[]") if match else ""
    try:
        found = {str(entry[4][0]) for entry in socket.getaddrinfo(host, None, type=socket.SOCK_STREAM)}
    except OSError as error:
        raise UsageError(
            f"base URL {url!r}: the host {host} has no address here ({error.strerror}).",
            "Check the name. In a workflow, a service has its name only in the job that lists it under `services`.",
        ) from error
    for text in sorted(found):
        address = _unmapped(ipaddress.ip_address(text))
        if not address.is_private or address.is_link_local or address.is_unspecified:
            raise UsageError(
                f"base URL {url!r}: {host} is {text}, which is not a private address.",
                "Use https:// there: `allow_http` is for servers on a network of your own.",
            )


def _address(host: str, url: str) -> _Address | None:
    try:
        address = ipaddress.ip_address(host)
    except ValueError:
        # Resolvers accept "127.1", "0x7f000001" and "2130706433" as addresses.
        if re.fullmatch(r"[0-9.]*|.*\.(0[xX][0-9a-fA-F]*|\d+)|0[xX][0-9a-fA-F]+", host) or ":" in host:
            raise UsageError(f"base URL {url!r} has an unusual spelling of an address.", _RULE) from None
        return None
    return _unmapped(address)


def _unmapped(address: _Address) -> _Address:
    return getattr(address, "ipv4_mapped", None) or address


def _without_userinfo(url: str) -> str:
    scheme, separator, rest = url.partition("://")
    shown = f"{scheme}{separator}***@{rest.rpartition('@')[2]}" if "@" in rest else url
    return repr(shown if len(shown) <= 200 else shown[:197] + "...")
