"""Newer models and agents than ``codegate.yml`` pins."""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, date, datetime
from functools import partial
from pathlib import Path
from typing import Literal, get_args

import yaml

from codegate.candidates import CandidateSpec, ListedModel
from codegate.candidates.agents import AGENTS
from codegate.candidates.harness import Role
from codegate.candidates.registry import has_own_account, listed_models
from codegate.candidates.snapshots import listed_as, successor
from codegate.candidates.spec import NO_ANSWER
from codegate.durable import write_atomic
from codegate.errors import InfrastructureError, UsageError
from codegate.running import Config
from codegate.running.config import load_config
from codegate.solving.releases import newer_release
from codegate.strict import read_text
from codegate.suite import check_model, parse_yaml, read_yaml
from codegate.suite.reader import MAX_YAML_BYTES


@dataclass(frozen=True)
class Upgrade:
    """What could replace a model or an agent's version.

    Attributes:
        name: of the provider, or of the agent.
        now: the model or version that is pinned.
        to: the one that could replace it; None: the provider's list has none.
        ends: the day on which the pinned model is shut down, or was.
        gone: the provider's list lacks the pinned model.
    """

    kind: Literal["model", "agent"]
    name: str
    now: str
    to: str | None
    ends: date | None = None
    gone: bool = False

    @property
    def title(self) -> str:
        """Return the proposal as a title."""
        return f"Upgrade {self.pinned} to {self.to}"

    @property
    def pinned(self) -> str:
        """Return what is pinned, for people."""
        return f"{self.name}:{self.now}" if self.kind == "model" else f"{self.name} {self.now}"

    def words(self) -> str:
        """Return what ends when, and what could replace it."""
        past = self.ends is not None and self.ends <= datetime.now(UTC).date()
        end = f" {'was shut down on' if past else 'ends on'} {self.ends}" if self.ends is not None else ""
        if self.gone:
            end = " is not in its provider's list of models"
        if self.to is None:
            return f"{self.pinned}{end}; the list has no newer model of its family"
        return f"{self.pinned}{end}{';' if end else ':'} {self.to} could replace it"


@dataclass(frozen=True)
class Upgrades:
    """The upgrades that were found; what ends soonest comes first.

    ``unknown`` says what was not looked up, and ``failed`` which providers and registries did not answer.
    """

    found: tuple[Upgrade, ...]
    unknown: tuple[str, ...]
    failed: tuple[str, ...]

    def choose(self, title: str) -> Upgrade:
        """Return the proposal with this title, or the first for "".

        Raises UsageError if there is none.
        """
        proposals = [one for one in self.found if one.to is not None]
        chosen = next((one for one in proposals if title in {"", one.title}), None)
        if chosen is None:
            raise UsageError(
                f"there is no proposal {title!r}." if title else "there is nothing to upgrade to.",
                "codegate upgrades lists the proposals." if title else "",
            )
        return chosen


def find_upgrades(path: Path) -> Upgrades:
    """Return newer models and agents of candidates, their helpers and judge.

    Raises UsageError for a configuration that a run refuses.
    """
    load_config(path)
    settings = read_yaml(path, Config)  # without the list prices, which would look like a candidate's own
    found: dict[Upgrade, None] = {}
    unknown: dict[str, None] = {}
    failed: dict[str, None] = {}
    lists: dict[tuple[str, str | None], tuple[ListedModel, ...]] = {}
    for candidate in (*settings.candidates, settings.judge):
        if candidate is None or not candidate.calls_a_model:
            continue
        models = () if _is_changed_by_hand(candidate) else (candidate, *candidate.helpers)
        if not models:
            unknown[f"{candidate.label}: its address, key, name or prices are your own; change it by hand."] = None
        for look in (*(partial(_model, lists, one) for one in models), partial(_agent, candidate)):
            try:
                upgrade = look()
            except UsageError as error:
                unknown[error.cause] = None
            except InfrastructureError as error:
                failed[error.cause] = None
            else:
                found |= {upgrade: None} if upgrade is not None else {}
    for one in [one for one in found if one.to is not None]:
        try:
            upgraded(read_text(path, MAX_YAML_BYTES), one, path.name)
        except UsageError as error:
            del found[one]
            unknown[f"{one.words()}. {error}"] = None
    first = sorted(found, key=lambda one: (not one.gone, one.ends or date.max))
    return Upgrades(tuple(first), tuple(unknown), tuple(failed))


def _is_changed_by_hand(spec: CandidateSpec) -> bool:
    """Return whether people have to change the candidate's model."""
    return has_own_account(spec) or spec.snapshot is not None or spec.prices is not None


def _model(lists: dict[tuple[str, str | None], tuple[ListedModel, ...]], spec: CandidateSpec) -> Upgrade | None:
    account = spec.provider, spec.api_key_env
    if account not in lists:
        try:
            lists[account] = listed_models(spec)
        except InfrastructureError:
            lists[account] = ()  # asking again for each candidate would only take its time again
            raise
    if not (models := lists[account]):
        return None
    entry, newer = listed_as(spec, models), successor(spec, models)
    ends = entry.ends if entry is not None else None
    if newer is None and ends is None and entry is not None:
        return None
    return Upgrade("model", spec.provider, spec.model, newer.id if newer else None, ends, gone=entry is None)


def _agent(spec: CandidateSpec) -> Upgrade | None:
    if spec.agent is None or AGENTS[spec.agent.name].registry is None:
        return None
    version = str(spec.agent.version)
    to = newer_release(AGENTS[spec.agent.name], version)
    return Upgrade("agent", spec.agent.name, version, to) if to is not None else None


def write_upgrade(path: Path, upgrade: Upgrade) -> None:
    """Change ``codegate.yml`` to the proposal, and nothing else in it.

    Raises UsageError if the file cannot be changed so.
    """
    write_atomic(path, upgraded(read_text(path, MAX_YAML_BYTES), upgrade, str(path)).encode("utf-8"))


def upgraded(text: str, upgrade: Upgrade, place: str) -> str:
    """Return a configuration's text with the proposal in it.

    Comments and layout are kept. Raises UsageError, naming ``place``, if nothing there can be replaced.
    """
    changed = text
    for node, new in sorted(_replaced(text, upgrade, place), key=lambda one: one[0].start_mark.index, reverse=True):
        start, end = node.start_mark.index, node.end_mark.index
        alike = type(parse_yaml(new, place)) is type(parse_yaml(text[start:end], place))
        changed = changed[:start] + (new if alike and node.style is None else json.dumps(new)) + changed[end:]
    if changed == text:
        raise UsageError(
            f"{place}: {upgrade.pinned} is not there in a form that can be replaced.", "Change it by hand."
        )
    config = check_model(parse_yaml(changed, place), Config, place)
    # Not by their keys, which lack the files that are not read here.
    if len({one.model_dump_json(exclude=set(NO_ANSWER)) for one in config.candidates}) < len(config.candidates):
        raise UsageError(f"{place}: another candidate is the same with {upgrade.to} already.", "Remove the old one.")
    return changed


def _replaced(text: str, upgrade: Upgrade, place: str) -> Iterator[tuple[yaml.ScalarNode, str]]:
    """Yield the scalars to replace, each with its new value."""
    now, to, written = upgrade.now, str(upgrade.to), parse_yaml(text, place)
    root = yaml.compose(text, Loader=yaml.SafeLoader)
    for key, value in root.value if isinstance(root, yaml.MappingNode) else ():
        if key.value not in {"candidates", "judge"}:
            continue
        several = isinstance(value, yaml.SequenceNode)
        entries = written[key.value] if several else [written[key.value]]
        for node, entry in zip(value.value if several else [value], entries, strict=True):
            specs = check_model({"candidates": [entry]}, Config, place).candidates
            agents = {(one.agent.name, one.agent.version) for one in specs if one.agent is not None}
            by_hand = any(map(_is_changed_by_hand, specs)) or upgrade.name not in {one.provider for one in specs}
            for name, scalar in _scalars(node, "model"):
                if upgrade.kind == "agent":
                    if name == "version" and scalar.value == now and (upgrade.name, now) in agents:
                        yield scalar, to
                    elif name == "as_of" and (upgrade.name, now) in agents:
                        yield scalar, datetime.now(UTC).date().isoformat()
                elif not by_hand and (
                    (name == "name" and now in scalar.value)
                    or (name in {"model", *get_args(Role)} and scalar.value in {now, upgrade.pinned})
                ):
                    yield scalar, to.join(scalar.value.rsplit(now, 1))


def _scalars(node: yaml.Node, key: str) -> Iterator[tuple[str, yaml.ScalarNode]]:
    """Yield the scalars in a node with the key that each is under."""
    if isinstance(node, yaml.ScalarNode):
        yield key, node
    elif isinstance(node, yaml.SequenceNode):
        for one in node.value:
            yield from _scalars(one, key)
    elif isinstance(node, yaml.MappingNode):
        for name, value in node.value:
            yield from _scalars(value, name.value)
