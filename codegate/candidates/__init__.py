"""Candidate specs, snapshot rules, prices, and model providers.

`open_provider` turns a ``CandidateSpec`` into a ``Provider``. Conversations have one form for all providers, that of
``conversation``. A provider's SDK is imported only when a candidate needs it.
"""

from codegate.candidates.conversation import (
    NO_USAGE,
    CallRecord,
    Completion,
    ListedModel,
    ListsModels,
    Message,
    ProblemKey,
    Provider,
    ProviderError,
    ProviderFault,
    Sampling,
    ToolCall,
    ToolSpec,
    Usage,
)
from codegate.candidates.endpoint import check_base_url, nothing_listens
from codegate.candidates.listed import list_entry, price_words, with_helper_prices
from codegate.candidates.prices import Price, Prices, cost, worst_case_call_cost
from codegate.candidates.providers import EXAMPLE_CANDIDATE
from codegate.candidates.redaction import Redactor, answer_redactor, environment_secrets, redactor_for
from codegate.candidates.registry import has_key, model_shutdowns, open_provider
from codegate.candidates.sdk import ForwardedAnswer
from codegate.candidates.short_form import answers_in_file
from codegate.candidates.snapshots import check_snapshot, model_shutdown, names_one_model
from codegate.candidates.spec import CandidateSpec, SolverName, parse_candidate

__all__ = [
    "EXAMPLE_CANDIDATE",
    "NO_USAGE",
    "CallRecord",
    "CandidateSpec",
    "Completion",
    "ForwardedAnswer",
    "ListedModel",
    "ListsModels",
    "Message",
    "Price",
    "Prices",
    "ProblemKey",
    "Provider",
    "ProviderError",
    "ProviderFault",
    "Redactor",
    "Sampling",
    "SolverName",
    "ToolCall",
    "ToolSpec",
    "Usage",
    "answer_redactor",
    "answers_in_file",
    "check_base_url",
    "check_snapshot",
    "cost",
    "environment_secrets",
    "has_key",
    "list_entry",
    "model_shutdown",
    "model_shutdowns",
    "names_one_model",
    "nothing_listens",
    "open_provider",
    "parse_candidate",
    "price_words",
    "redactor_for",
    "with_helper_prices",
    "worst_case_call_cost",
]
