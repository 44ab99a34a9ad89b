"""The configuration of a candidate, and its digest."""

import re
from collections.abc import Iterable
from datetime import date
from difflib import get_close_matches
from typing import Annotated, Any, Final, Literal

from pydantic import AfterValidator, Field, StringConstraints, ValidationInfo, field_validator, model_validator

from codegate.candidates.agents import AGENTS, OWN_COMMAND, Agent, agent_named, agent_names
from codegate.candidates.conversation import Sampling
from codegate.candidates.endpoint import check_base_url, is_own_address
from codegate.candidates.harness import Harness
from codegate.candidates.prices import Price, Prices
from codegate.candidates.providers import provider_names
from codegate.candidates.short_form import WITHOUT_MODEL, known_providers, read_short_form
from codegate.durable import digest
from codegate.errors import UsageError
from codegate.strict import Strict

SolverName = Literal["single_shot", "tool_loop", "agent"]

MAX_PROMPT: Final = 100_000
"""Most characters of a prompt's text."""
MAX_CALL_SECONDS: Final = 3600

NO_ANSWER: Final = {
    "name", "api_key_env", "api_key_command", "allow_http", "timeout_seconds", "training_cutoff", "prices",
}  # fmt: skip
"""Fields of a candidate that cannot change its answers."""

_REQUIREMENT: Final = r"^[A-Za-z0-9][A-Za-z0-9._-]{0,100}(\[[A-Za-z0-9,._-]{1,200}\])?==[0-9A-Za-z.+!_-]{1,60}$"


def _no_runner_variable(name: str) -> str:
    """Return ``name``; raise ValueError for variables of GitHub's runner.

    Such variables hold the runner's tokens.
    """
    if re.match("(?:ACTIONS|GITHUB|INPUT|RUNNER)_", name, re.IGNORECASE):
        raise ValueError(f"{name} is a variable of the runner, not a provider's key")
    return name


def _no_key(name: str) -> str:
    """Return ``name``; raise ValueError if it may carry a key.

    Names of headers and parameters that HTTP and the SDKs set themselves are refused too.
    """
    if re.search("key|token|secret|passw|auth|cookie|credential|signature", name, re.IGNORECASE):
        raise ValueError(f"{name} may carry a key, which is never in the file: see `api_key_env` and `api_key_command`")
    if re.fullmatch(r"(?:host|connection|te|trailer|upgrade|expect|(?:content|transfer|accept|x-amz)-.*)", name, re.I):
        raise ValueError(f"{name} is set by the client itself")
    return name


_Sent = Annotated[
    dict[
        Annotated[str, StringConstraints(pattern=r"^[A-Za-z][A-Za-z0-9_-]{0,63}$"), AfterValidator(_no_key)],
        Annotated[str, StringConstraints(pattern=r"^[!-~](?:[ -~]{0,998}[!-~])?$")],
    ],
    Field(min_length=1, max_length=20),
]
"""Names and values that are sent with each request."""


class AgentSettings(Strict):
    """A candidate's agent, and the limits of one attempt."""

    name: str = Field(description=f"One of {', '.join(AGENTS)}, or one that an installed package adds.")
    version: str | None = Field(
        default=None, pattern=r"^[0-9A-Za-z][0-9A-Za-z.+_-]{0,60}$", description="Its release, exactly."
    )
    as_of: date | None = Field(
        default=None, description="What it depends on is resolved as of this day; default: the day of the run."
    )
    command: tuple[str, ...] | None = Field(
        default=None,
        min_length=1,
        description="Program and arguments of the agent `command`; {prompt}, {model}, {address} and {files}, the "
        "folder of its `files`, are replaced.",
    )
    files: tuple[Annotated[str, StringConstraints(min_length=1, max_length=200)], ...] | None = Field(
        default=None,
        min_length=1,
        max_length=100,
        description="Text files that the agent `command` is made of, relative to the configuration.",
    )
    file_texts: tuple[str, ...] | None = Field(
        default=None, description="What stands in `files`, in their order; written when a run begins."
    )
    install: tuple[Annotated[str, StringConstraints(pattern=_REQUIREMENT)], ...] | None = Field(
        default=None,
        min_length=1,
        max_length=100,
        description="Packages from PyPI, as NAME==VERSION, that `{python}` finds in the agent `command`.",
    )
    minutes: float = Field(default=30, gt=0, le=240, description="Wall clock of an attempt.")
    tokens: int | None = Field(default=None, ge=1, description="Most tokens of an attempt, input and output.")
    usd: Price | None = Field(default=None, description="Most US dollars of an attempt; its prices have to be known.")

    @model_validator(mode="after")
    def _is_complete(self) -> "AgentSettings":
        if self.name not in agent_names():
            near = get_close_matches(self.name, agent_names(), 1)
            raise ValueError(f"unknown agent {self.name[:100]!r}{f', did you mean {near[0]}' if near else ''}")
        own = self.name == OWN_COMMAND
        if own != (self.command is not None):
            raise ValueError("the agent `command` has a `command`, and no other agent has")
        if not own and (self.files is not None or self.install is not None):
            message = f"`files` and `install` are for the agent `command`; {self.name} is installed by `version`"
            raise ValueError(message)
        if self.file_texts is not None and len(self.file_texts) != len(self.files or ()):
            raise ValueError("`file_texts` has another length than `files`, from which codegate reads it")
        if not own and self.version is None:
            raise ValueError(f"{self.name} needs its `version`, for example {agent_named(self.name).tried}")
        return self


class Prompt(Strict):
    """A team's own prompt files, and their texts.

    Only the texts, not the files' names, identify the prompt.
    """

    system: str | None = Field(default=None, max_length=1000, description="File with the system prompt.")
    task: str | None = Field(default=None, max_length=1000, description="File with the template of the task.")
    system_text: str | None = Field(default=None, max_length=MAX_PROMPT)
    task_text: str | None = Field(default=None, max_length=MAX_PROMPT)


class CandidateSpec(Strict):
    """One candidate as configured.

    ``model`` is the dated snapshot for ``openai`` and ``anthropic``, the transcript file for ``replay``, the name and
    the digest of the answers for ``predictions``, and empty for ``reference`` and ``empty``. ``name`` is what reports
    show; it defaults to the short form.
    """

    provider: str = Field(
        description="A model provider's name, replay, reference, empty, or one that an installed package adds.",
        examples=["openai", "anthropic"],
    )
    model: str = Field(default="", max_length=1000)
    snapshot: str | None = Field(
        default=None,
        min_length=1,
        max_length=200,
        description="What answers have to name as their model, where `model` is a name of your own: a deployment's, "
        "an alias's.",
    )
    allow_http: bool = Field(
        default=False, description="Allow a `base_url` with http:// to a private address, which is not encrypted."
    )
    base_url: str | None = None
    api_key_env: (
        Annotated[str, StringConstraints(pattern=r"^[A-Za-z_][A-Za-z0-9_]*$"), AfterValidator(_no_runner_variable)]
        | None
    ) = Field(default=None, description="Environment variable that holds the key; each provider has a default.")
    api_key_command: tuple[Annotated[str, StringConstraints(max_length=2000)], ...] | None = Field(
        default=None,
        min_length=1,
        max_length=50,
        description="Program and arguments that print the key, in place of a variable; no shell is involved.",
    )
    headers: _Sent | None = Field(
        default=None, description="Headers of each request, for a gateway of your own; none that holds a key."
    )
    query: _Sent | None = Field(
        default=None, description="Parameters of each request's address; none that holds a key."
    )
    name: str = Field(default="", max_length=200)
    protocol: Literal["chat", "responses"] | None = Field(
        default=None, description="Which of OpenAI's APIs is called; default: chat completions. Agents have their own."
    )
    solver: SolverName = "single_shot"
    max_iterations: int = Field(default=5, ge=1, le=1000)
    max_prompt_tokens: int | None = Field(
        default=None,
        ge=1000,
        description="Of a single shot, at three characters a token: the most relevant files that fit are shown.",
    )
    agent: AgentSettings | None = None
    harness: Harness | None = Field(
        default=None,
        description="What of the repository the agent is given, in place of what problems have at its paths: `.` for "
        "all that it reads by itself, or its parts.",
    )
    prompt: Prompt | None = Field(
        default=None, description="Files in place of codegate's own prompts; a name alone is the task's."
    )
    sampling: Sampling = Sampling()
    training_cutoff: date | None = Field(
        default=None, description="The day that the model's training data ends; for reports, it changes no answer."
    )
    timeout_seconds: float = Field(
        default=600,
        gt=0,
        le=MAX_CALL_SECONDS,
        description="Wall-clock limit of one model call, from connecting to the last byte.",
    )

    prices: Prices | None = Field(
        default=None, description="What the model's tokens cost; for reports and budgets, it changes no answer."
    )

    @field_validator("prompt", mode="before")
    @classmethod
    def _name_is_the_task(cls, value: Any) -> Any:
        return {"task": value} if isinstance(value, str) else value

    @model_validator(mode="before")
    @classmethod
    def _agent_in_one_line(cls, data: Any) -> Any:
        """Convert ``agent: NAME, version: …`` to the nested form."""
        if not isinstance(data, dict) or not data.get("agent"):
            return data
        data = {"solver": "agent", "max_iterations": 100, **data}
        if isinstance(data["agent"], str):
            own = {name: data.pop(name) for name in AgentSettings.model_fields if name != "name" and name in data}
            data["agent"] = {"name": data["agent"], **own}
        if "provider" not in data and isinstance(data.get("model"), str):
            try:
                short = read_short_form(data["model"])
            except UsageError as error:
                raise ValueError(str(error).rstrip(".")) from error
            data |= {**short, "base_url": data.get("base_url") or short["base_url"]}
        return data

    @model_validator(mode="after")
    def _is_consistent(self) -> "CandidateSpec":
        if (self.agent is not None) != (self.solver == "agent"):
            raise ValueError("the solver `agent` has an `agent`, and no other solver has")
        if self.agent is None and self.harness is not None:
            raise ValueError(
                f"`harness` is for an agent, and this candidate has none: add one of {', '.join(agent_names())}"
            )
        if self.agent is not None and self.harness is not None:
            self._check_roles(agent_named(self.agent.name), self.harness)
        if self.agent is not None and not self.calls_a_model:
            raise ValueError(f"an agent needs a model, and {self.provider} calls none")
        if self.max_prompt_tokens is not None and self.solver != "single_shot":
            raise ValueError("`max_prompt_tokens` is for a single shot; a tool loop and an agent read what they like")
        if self.agent is not None and self.protocol is not None:
            raise ValueError(f"{self.agent.name} speaks a protocol of its own: remove `protocol`")
        if self.api_key_command is not None and self.api_key_env is not None:
            raise ValueError("`api_key_env` and `api_key_command` are two sources of one key")
        return self

    @staticmethod
    def _check_roles(agent: Agent, harness: Harness) -> None:
        for role, model in harness.models.items():
            prefix, _, rest = model.partition(":")
            if role not in agent.roles:
                known = f"; `harness.models` may have: {', '.join(agent.roles)}" if agent.roles else ""
                raise ValueError(f"{agent.name} has no {role} model of its own{known}")
            if prefix in provider_names():
                raise ValueError(f"the {role} model is of the candidate's own provider: write {rest} alone")

    @field_validator("provider")
    @classmethod
    def _provider_is_known(cls, name: str) -> str:
        if name not in {*WITHOUT_MODEL, *provider_names()}:
            near = get_close_matches(name, known := known_providers(), 1)
            message = f"unknown provider {name[:100]!r}{f' (did you mean {near[0]}?)' if near else ''}"
            message += f"; known providers: {', '.join(known)}"
            raise ValueError(message)
        return name

    @field_validator("base_url")
    @classmethod
    def _base_url_is_allowed(cls, url: str | None, info: ValidationInfo) -> str | None:
        if url is not None:
            try:
                check_base_url(url, allow_http=info.data.get("allow_http", False))
            except UsageError as error:
                raise ValueError(str(error).rstrip(".")) from error
        return url

    @property
    def label(self) -> str:
        """Return the candidate's name for people."""
        if self.name:
            return self.name
        label = f"{self.provider}:{self.model}" if self.model else self.provider
        if self.agent is not None:
            label = " ".join(part for part in (self.agent.name, self.agent.version, label) if part)
        return f"{label}@{self.base_url}" if self.base_url else label

    @property
    def destination(self) -> tuple[object, ...]:
        """Return where keys go: address, key source, headers, parameters."""
        sent = (tuple((named or {}).items()) for named in (self.headers, self.query))
        return self.provider, self.base_url, self.api_key_env, self.api_key_command, *sent

    def is_trusted_by(self, named: Iterable["CandidateSpec"]) -> bool:
        """Return whether the candidate's key may go to its address.

        A provider's usual key may always go to the provider's own address, without further headers or parameters.
        Otherwise one of ``named``, the user's own candidates, must have an equal ``destination``. This is because the
        candidate can come from a pull request, a run's folder or a baseline.
        """
        if not self.calls_a_model or any(self.destination == one.destination for one in named):
            return True
        return is_own_address(self) and not any(self.destination[2:])

    @property
    def helpers(self) -> tuple["CandidateSpec", ...]:
        """Return a candidate for each helper model of the harness.

        A helper is this candidate with another model. Of the sampling parameters, helpers keep only the output limit.
        """
        models = dict.fromkeys(self.harness.models.values()) if self.harness is not None else {}
        prices = self.prices.helpers if self.prices is not None else {}
        sampling = Sampling(max_output_tokens=self.sampling.max_output_tokens)
        changed = {"harness": None, "snapshot": None, "sampling": sampling, "name": ""}
        return tuple(
            self.model_copy(update={"model": one, "prices": prices.get(one), **changed})
            for one in models
            if one != self.model
        )

    def candidate_for(self, model: object) -> "CandidateSpec":
        """Return the helper candidate with this model, else the candidate."""
        return next((one for one in self.helpers if one.model == model), self)

    @property
    def calls_a_model(self) -> bool:
        """Return whether the candidate's answers come from model calls."""
        return self.provider not in WITHOUT_MODEL

    def key(self) -> str:
        """Return 16 digits that identify the candidate.

        The digits are the beginning of a digest of all fields that can change the candidate's answers.
        """
        where_read = {"prompt": {"system", "task"}, "harness": {"folder", "files", "skills"}}
        fields = self.model_dump(mode="json", exclude={**dict.fromkeys(NO_ANSWER, True), **where_read})
        unset = {"agent", "harness", "prompt", "protocol", "snapshot", "headers", "query", "max_prompt_tokens"}
        own = {"files", "file_texts", "install"}
        for where, names in ((fields["agent"], own), (fields["sampling"], {"effort", "thinking"}), (fields, unset)):
            for name in names if where is not None else ():
                if where[name] is None:
                    del where[name]
        return digest(fields)[:16]

    def short_form(self) -> str | None:
        """Return ``provider:model[@base_url]`` if that is the whole candidate.

        None if the candidate parsed from that text has another ``key``.
        """
        text = self.model_copy(update={"name": ""}).label
        try:
            return text if parse_candidate(text).key() == self.key() else None
        except UsageError:
            return None

    def settings(self) -> dict[str, str]:
        """Return, as text, the configured fields that can change answers."""
        apart = {"sampling", "agent", "harness", "prompt"}
        fields = self.model_dump(mode="json", exclude=NO_ANSWER | apart, exclude_none=True)
        if self.solver == "single_shot":
            del fields["max_iterations"]
        if self.provider == "predictions":
            fields["solver"] = "external"
        fields |= self.sampling.model_dump(mode="json", exclude_none=True)
        if self.agent is not None:
            settings = self.agent.model_dump(mode="json", exclude_none=True, exclude={"name", "file_texts"})
            if self.agent.file_texts is not None:
                settings["files"] = f"{', '.join(self.agent.files or ())} ({digest(self.agent.file_texts)[:8]})"
            fields["harness"] = "none" if self.harness is None else self.harness.words()
            fields |= {"agent": self.agent.name, **{f"agent {name}": value for name, value in settings.items()}}
        return {name: str(value) for name, value in fields.items()}


def parse_candidate(text: str) -> CandidateSpec:
    """Parse a candidate from its short form ``provider:model[@base_url]``.

    The model's name is still unchecked: see ``check_snapshot``.

    Raises:
        UsageError: unknown provider, a missing or superfluous model, or a base URL that is not allowed.
    """
    return CandidateSpec.model_validate(read_short_form(text))
