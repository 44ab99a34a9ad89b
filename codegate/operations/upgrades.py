"""Find newer models and agents than ``codegate.yml`` pins."""

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, date, datetime
from functools import partial
from pathlib import Path
from typing import Final, Literal, get_args
from urllib.parse import quote

import yaml
from packaging.utils import InvalidWheelFilename, canonicalize_name, parse_wheel_filename
from packaging.version import InvalidVersion, Version

from codegate.candidates import CandidateSpec, ListedModel
from codegate.candidates.agents import Agent, agent_named
from codegate.candidates.harness import Role
from codegate.candidates.registry import has_own_account, listed_models
from codegate.candidates.snapshots import find_listed_model, successor
from codegate.candidates.spec import NO_ANSWER
from codegate.durable import write_atomic
from codegate.errors import InfrastructureError, UsageError
from codegate.running import Config
from codegate.running.config import load_config
from codegate.sandbox.tools import index_environment
from codegate.strict import parse_json, read_text
from codegate.suite import check_model, parse_yaml, read_yaml
from codegate.suite.reader import MAX_YAML_BYTES

# The registries that agents are installed from.
_NPM: Final = "https://registry.npmjs.org"
_PYPI: Final = "https://pypi.org/simple"
_TIMEOUTS: Final = (10.0, 30.0)  # seconds to connect, and to wait for the next bytes
_MAX_ANSWER_BYTES: Final = 64 << 20
_SIMPLE: Final = "application/vnd.pypi.simple.v1+json"


@dataclass(frozen=True)
class Upgrade:
    """A newer version of a pinned model or agent.

    ``to`` is None if the provider's list has no newer one. ``gone``: the list no longer has the pinned model.
    """

    kind: Literal["model", "agent"]
    name: str
    now: str
    to: str | None
    ends: date | None = None
    gone: bool = False

    @property
    def title(self) -> str:
        """Return the title for the upgrade's pull request."""
        return f"Upgrade {self.pinned} to {self.to}"

    @property
    def pinned(self) -> str:
        """Return the name of the pinned model or agent version."""
        return f"{self.name}:{self.now}" if self.kind == "model" else f"{self.name} {self.now}"

    def words(self) -> str:
        """Describe the upgrade: what ends when, and its replacement."""
        past = self.ends is not None and self.ends <= datetime.now(UTC).date()
        end = f" {'was shut down on' if past else 'ends on'} {self.ends}" if self.ends is not None else ""
        if self.gone:
            end = " is not in its provider's list of models"
        if self.to is None:
            return f"{self.pinned}{end}; the list has no newer model of its family"
        return f"{self.pinned}{end}{';' if end else ':'} {self.to} could replace it"


@dataclass(frozen=True)
class Upgrades:
    """The available upgrades, sorted by the pinned version's end.

    ``unknown`` are sentences on what was not looked up, ``failed`` on providers and registries that did not answer.
    """

    found: tuple[Upgrade, ...]
    unknown: tuple[str, ...]
    failed: tuple[str, ...]

    def nothing(self) -> str:
        """Return text for people: there is no upgrade."""
        but = ", but not everything was looked up" if self.unknown or self.failed else ""
        return f"nothing that is pinned ends, and nothing newer was found{but}"

    def choose(self, title: str) -> Upgrade | None:
        """Return the upgrade with this title, or None.

        "" is the first one. Raises UsageError if no upgrade has the title, or InfrastructureError if a look-up failed.
        """
        proposals = [one for one in self.found if one.to is not None]
        chosen = next((one for one in proposals if title in {"", one.title}), None)
        if chosen is None and title:
            error = InfrastructureError if self.failed else UsageError
            titles = ", ".join(repr(one.title) for one in proposals) or "none"
            raise error(f"there is no proposal {title!r}.", f"The proposals are: {titles}.")
        return chosen


def find_upgrades(path: Path) -> Upgrades:
    """Return newer models and agents than a configuration pins.

    The models of candidates, helpers and the judge are looked up.
    """
    load_config(path)
    settings = read_yaml(path, Config)  # read without list prices, which would look like prices of candidates
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
            with_upgrade(read_text(path, MAX_YAML_BYTES), one, path.name)
        except UsageError as error:
            del found[one]
            unknown[f"{one.words()}. {error}"] = None
    first = sorted(found, key=lambda one: (not one.gone, one.ends or date.max))
    return Upgrades(tuple(first), tuple(unknown), tuple(failed))


def _is_changed_by_hand(spec: CandidateSpec) -> bool:
    return has_own_account(spec) or spec.snapshot is not None or spec.prices is not None


def _model(lists: dict[tuple[str, str | None], tuple[ListedModel, ...]], spec: CandidateSpec) -> Upgrade | None:
    account = spec.provider, spec.api_key_env
    if account not in lists:
        try:
            lists[account] = listed_models(spec)
        except InfrastructureError:
            lists[account] = ()  # remembered, because another request would fail as slowly
            raise
    if not (models := lists[account]):
        return None
    entry, newer = find_listed_model(spec, models), successor(spec, models)
    ends = entry.ends if entry is not None else None
    if newer is None and ends is None and entry is not None:
        return None
    return Upgrade("model", spec.provider, spec.model, newer.id if newer else None, ends, gone=entry is None)


def _agent(spec: CandidateSpec) -> Upgrade | None:
    if spec.agent is None or agent_named(spec.agent.name).registry is None:
        return None
    version = str(spec.agent.version)
    to = _newer_release(agent_named(spec.agent.name), version)
    return Upgrade("agent", spec.agent.name, version, to) if to is not None else None


def write_upgrade(path: Path, upgrade: Upgrade) -> None:
    """Write the new version into ``codegate.yml``, changing nothing else."""
    write_atomic(path, with_upgrade(read_text(path, MAX_YAML_BYTES), upgrade, str(path)).encode("utf-8"))


def with_upgrade(text: str, upgrade: Upgrade, place: str) -> str:
    """Return a configuration's text with the upgrade, layout unchanged.

    ``place`` names the configuration in messages.
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
    # Not compared by key, because a key covers files that are not read here.
    if len({one.model_dump_json(exclude=set(NO_ANSWER)) for one in config.candidates}) < len(config.candidates):
        raise UsageError(f"{place}: another candidate is the same with {upgrade.to} already.", "Remove the old one.")
    return changed


def _replaced(text: str, upgrade: Upgrade, place: str) -> Iterator[tuple[yaml.ScalarNode, str]]:
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
    if isinstance(node, yaml.ScalarNode):
        yield key, node
    elif isinstance(node, yaml.SequenceNode):
        for one in node.value:
            yield from _scalars(one, key)
    elif isinstance(node, yaml.MappingNode):
        for name, value in node.value:
            yield from _scalars(value, name.value)


def _newer_release(agent: Agent, version: str) -> str | None:
    """Return the registry's newest release; None if not newer.

    On npm this is the release called latest; on PyPI, the newest release with a wheel that is neither yanked nor a
    pre-release.
    """
    found = _npm(agent.package) if agent.registry == "npm" else _pypi(agent.package)
    try:
        return found if Version(found) > Version(version) else None
    except InvalidVersion:
        return None


def _npm(package: str) -> str:
    variables = {name.lower(): value for name, value in index_environment().items()}
    base = variables.get("npm_config_registry") or _NPM
    address = f"{base.rstrip('/')}/{quote(package, safe='@')}/latest"
    found = _fetch_json(f"npm about {package}", address, "application/json").get("version")
    if not isinstance(found, str) or not re.fullmatch(r"[0-9A-Za-z][0-9A-Za-z.+_-]{0,60}", found):
        raise InfrastructureError(f"npm names no version of {package}.")
    return found


def _pypi(package: str) -> str:
    variables = index_environment()
    base = variables.get("UV_DEFAULT_INDEX") or variables.get("UV_INDEX_URL") or _PYPI
    address = f"{base.rstrip('/')}/{canonicalize_name(package)}/"
    files = _fetch_json(f"PyPI about {package}", address, _SIMPLE).get("files")
    versions: list[Version] = []
    for file in files if isinstance(files, list) else ():
        if isinstance(file, dict) and not file.get("yanked"):
            try:
                versions.append(parse_wheel_filename(str(file.get("filename")))[1])
            except (InvalidWheelFilename, InvalidVersion):
                continue
    if not (released := [one for one in versions if not one.is_prerelease]):
        raise InfrastructureError(f"PyPI names no version of {package}.")
    return str(max(released))


def _fetch_json(what: str, address: str, accepted: str) -> dict[str, object]:
    """Return the JSON object at ``address``.

    ``accepted`` is the object's media type. Messages show ``what`` instead of the address, which may hold credentials.
    """
    import requests  # noqa: PLC0415

    content = b""
    try:
        with requests.get(address, headers={"Accept": accepted}, timeout=_TIMEOUTS, stream=True) as response:
            if not response.ok:
                raise InfrastructureError(f"no answer of {what}: status {response.status_code}.")
            for piece in response.iter_content(1 << 16):
                content += piece
                if len(content) > _MAX_ANSWER_BYTES:
                    raise InfrastructureError(f"no usable answer of {what}: over {_MAX_ANSWER_BYTES >> 20} MiB.")
        found = parse_json(content.decode("utf-8", "replace"), what)
    except (requests.RequestException, UsageError) as error:
        raise InfrastructureError(
            f"no usable answer of {what}.", "Check the network and the registry's address."
        ) from error
    if not isinstance(found, dict):
        raise InfrastructureError(f"no usable answer of {what}.")
    return found
