"""Which variant of a feature a user gets."""

import operator
import re
from hashlib import sha256

_ORDER = {"<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge}
_OPERATORS = {"=", "!=", "in", "starts", "version>=", *_ORDER}


class Flags:
    """Features that some users have."""

    def __init__(self, definitions: dict) -> None:
        self._definitions = definitions
        for flag, definition in definitions.items():
            for fault in _faults(definition, definitions):
                raise ValueError(f"{flag}: {fault}")
        checked: set[str] = set()
        for flag in definitions:
            self._check_circle(flag, (), checked)

    def variant(self, flag: str, user: dict) -> str:
        """Return the variant that ``user`` gets."""
        definition = self._definitions[flag]
        if not definition.get("enabled", True):
            return definition["off"]
        if any(self.variant(other, user) != wanted for other, wanted in definition.get("needs", {}).items()):
            return definition["off"]
        for rule in definition.get("rules", []):
            if all(_holds(user, *condition) for condition in rule["if"]):
                if "variant" in rule:
                    return rule["variant"]
                if _place(flag, "rollout", user) * 100 >= rule["percent"]:
                    return definition["off"]
                break
        weights = definition["variants"]
        place = _place(flag, "variant", user) * sum(weights.values())
        so_far = 0
        for name, weight in weights.items():
            so_far += weight
            if so_far > place:
                return name
        raise AssertionError

    def _check_circle(self, flag: str, path: tuple[str, ...], checked: set[str]) -> None:
        if flag in path:
            raise ValueError(f"{flag}: needs itself")
        if flag not in checked:
            for other in self._definitions[flag].get("needs", {}):
                self._check_circle(other, (*path, flag), checked)
            checked.add(flag)


def _faults(definition: dict, definitions: dict):
    variants = definition["variants"]
    if definition["off"] not in variants:
        yield "off is no variant"
    weights = list(variants.values())
    if not all(type(weight) is int and weight >= 0 for weight in weights) or not sum(weights):
        yield "the weights are wrong"
    for other, wanted in definition.get("needs", {}).items():
        if other not in definitions or wanted not in definitions[other]["variants"]:
            yield f"needs {other}: {wanted}, which there is not"
    for rule in definition.get("rules", []):
        if ("variant" in rule) == ("percent" in rule):
            yield "a rule has either a variant or a percentage"
        elif "variant" in rule and rule["variant"] not in variants:
            yield "a rule has no variant"
        elif "percent" in rule and not 0 <= rule["percent"] <= 100:
            yield "a percentage is out of range"
        if any(condition[1] not in _OPERATORS for condition in rule["if"]):
            yield "an operator is unknown"


def _place(flag: str, kind: str, user: dict) -> float:
    return int(sha256(f"{flag}.{kind}:{user['id']}".encode()).hexdigest()[:8], 16) / 16**8


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _same(one: object, other: object) -> bool:
    return isinstance(one, bool) == isinstance(other, bool) and one == other


def _version(text: object) -> list[int] | None:
    if not isinstance(text, str) or not re.fullmatch(r"[0-9]+(\.[0-9]+)*", text):
        return None
    numbers = [int(part) for part in text.split(".")]
    while numbers and numbers[-1] == 0:
        numbers.pop()
    return numbers


def _holds(user: dict, attribute: str, name: str, value: object) -> bool:
    if attribute not in user:
        return False
    have = user[attribute]
    if name in {"=", "!="}:
        return _same(have, value) == (name == "=")
    if name == "in":
        return any(_same(have, one) for one in value)
    if name == "starts":
        return isinstance(have, str) and have.startswith(value)
    if name == "version>=":
        versions = _version(have), _version(value)
        return None not in versions and versions[0] >= versions[1]
    alike = (_is_number(have) and _is_number(value)) or (isinstance(have, str) and isinstance(value, str))
    return alike and _ORDER[name](have, value)
