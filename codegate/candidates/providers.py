"""Every model provider, with its address and key variable.

A provider is a file with a ``ModelProvider`` in it. Our own are listed here; other packages add theirs by an entry
point of ``codegate.providers``.
"""

import contextlib
import importlib
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cache
from typing import TYPE_CHECKING, Final

from codegate.candidates.conversation import Provider
from codegate.errors import UsageError
from codegate.plugins import load_plugin, plugin_names

if TYPE_CHECKING:
    from codegate.candidates.endpoint import Endpoint
    from codegate.candidates.spec import CandidateSpec

SECRET_NAME: Final = re.compile(
    r"(KEY|TOKEN|SECRET|PASSWORD|WEBHOOK|ACCESS_KEY_ID|BEARER_TOKEN_BEDROCK)$", re.IGNORECASE
)
"""Pattern of the ends of variables' names whose values are redacted everywhere. Only a variable with such a name may
hold a key."""

EXAMPLE_CANDIDATE: Final = "openai:gpt-5.4-mini-2026-03-17"
"""Default of `codegate init`, and example in messages: a dated model with a list price and no announced end."""

_GROUP: Final = "codegate.providers"
_NAMES: Final = ("openai", "anthropic", "azure", "gemini", "bedrock", "vertex")
_OWN: Final = {name: f"codegate.candidates.{name}" for name in _NAMES}


@dataclass(frozen=True)
class ModelProvider:
    """How to reach and call the models of one provider.

    Attributes:
        address: base URL of candidates without a ``base_url``, or a function that returns it or raises UsageError.
        hosts: ``fnmatch`` patterns of the provider's own hosts; a ``*`` stays within a label. Even a pull request may
            send the provider's key there, because no customer controls them.
        key_variable: environment variable that holds the key, unless the candidate names another.
        example: a pinned model, for messages.
        connect: opens a connection for a candidate; its SDK is imported then.
        customer_hosts: patterns of customers' hosts, where the provider's rules on model names hold too.
        protocols: names in ``codegate.candidates.protocols`` that agents may speak to it, the preferred one first.
        own_key: returns the machine's own credentials for it, if no key is set; "" if there are none.
        snapshot_of: returns the name that answers give to a model, if it differs from the name in requests.
        not_keys: variables that people set by mistake instead of a key, each with the reason.
        telemetry_name: the provider's name in OpenTelemetry's GenAI conventions, if it differs.
        address_variable: environment variable from which its own SDK takes another address, if there is one.
    """

    address: str | Callable[[], str]
    hosts: tuple[str, ...]
    key_variable: str
    example: str
    connect: Callable[["CandidateSpec", "Endpoint"], Provider]
    customer_hosts: tuple[str, ...] = ()
    protocols: tuple[str, ...] = ()
    own_key: Callable[[], str] | None = None
    snapshot_of: Callable[[str], str] = str
    not_keys: Mapping[str, str] = field(default_factory=dict)
    telemetry_name: str | None = None
    address_variable: str = ""


def provider_names() -> tuple[str, ...]:
    """Return the names of all model providers."""
    return (*_OWN, *(name for name in plugin_names(_GROUP) if name not in _OWN))


def key_variables() -> frozenset[str]:
    """Return the environment variables that hold providers' keys."""
    found: set[str] = set()
    for name in provider_names():
        with contextlib.suppress(UsageError):  # another package's provider may be broken
            found |= {model_provider(name).key_variable, *model_provider(name).not_keys}
    return frozenset(found)


@cache
def model_provider(name: str) -> ModelProvider:
    """Return the provider called ``name``, one of ``provider_names``.

    Raises:
        UsageError: another package's provider cannot be loaded, or is no ``ModelProvider``.
    """
    found = importlib.import_module(_OWN[name]).PROVIDER if name in _OWN else load_plugin(_GROUP, name)
    if not isinstance(found, ModelProvider) or not SECRET_NAME.search(found.key_variable):
        raise UsageError(
            f"the entry point {name!r} of {_GROUP} is no ModelProvider with a key variable that ends in KEY, TOKEN, "
            "SECRET or PASSWORD.",
            "Update the package.",
        )
    return found
