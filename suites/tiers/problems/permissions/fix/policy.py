"""Who may do what."""

import re
from collections.abc import Iterator

_FORBIDDEN = {"", ".", "..", "*", "**"}


class Policy:
    """Roles, and who has them."""

    def __init__(self, roles: dict, bindings: list[dict]) -> None:
        self._roles = roles
        self._bindings = bindings
        for name, role in roles.items():
            for other in role.get("inherits", []):
                if other not in roles:
                    raise ValueError(f"{name} inherits the unknown role {other}")
            for rule in (*role.get("allow", []), *role.get("deny", [])):
                action, separator, pattern = rule.partition(":")
                if not action or not separator or not _is_pattern(pattern):
                    raise ValueError(f"{name} has the bad rule {rule!r}")
        self._lineage = {name: tuple(self._inherited(name, ())) for name in roles}
        for binding in bindings:
            subject = binding["who"]
            if not re.fullmatch("(user|group):.+", subject):
                raise ValueError(f"{subject!r} is no subject")
            if binding["role"] not in roles or not _is_pattern(binding.get("on", "**")):
                raise ValueError(f"{subject} has the unknown role {binding['role']}, or a bad pattern")

    def decide(self, user: str, groups: list[str], action: str, path: str, now: int) -> tuple[bool, str]:
        """Return whether the user may do it, and by which rule."""
        parts = _parts(path)
        subjects = {f"user:{user}", *(f"group:{group}" for group in groups)}
        names = [
            name
            for binding in self._bindings
            if binding["who"] in subjects
            and ("until" not in binding or now < binding["until"])
            and _matches(binding.get("on", "**"), parts)
            for name in self._lineage[binding["role"]]
        ]
        for kind in ("deny", "allow"):
            for name in names:
                for rule in self._roles[name].get(kind, []):
                    verb, _, pattern = rule.partition(":")
                    if verb in {action, "*"} and _matches(pattern, parts):
                        return kind == "allow", f"{name}: {rule}"
        return False, "no rule"

    def allowed_actions(self, user: str, groups: list[str], actions: list[str], path: str, now: int) -> list[str]:
        """Return those of the actions that the user may do."""
        return [action for action in actions if self.decide(user, groups, action, path, now)[0]]

    def _inherited(self, name: str, above: tuple[str, ...]) -> Iterator[str]:
        if name in above:
            raise ValueError(f"{name} inherits itself")
        found = {name: None}
        for other in self._roles[name].get("inherits", []):
            found.update(dict.fromkeys(self._inherited(other, (*above, name))))
        return iter(found)


def _is_pattern(pattern: str) -> bool:
    if pattern in {"**", "/"}:
        return True
    first, *parts = pattern.split("/")
    return first == "" and bool(parts) and "" not in parts and "**" not in parts[:-1]


def _parts(path: str) -> list[str]:
    if path == "/":
        return []
    first, *parts = path.split("/")
    if first or not parts or not _FORBIDDEN.isdisjoint(parts):
        raise ValueError(f"{path!r} is no path")
    return parts


def _matches(pattern: str, parts: list[str]) -> bool:
    wanted = pattern.strip("/").split("/")
    if wanted[-1] == "**":
        wanted = wanted[:-1]
        parts = parts[: len(wanted)]
    return len(parts) == len(wanted) and all(one in {part, "*"} for one, part in zip(wanted, parts, strict=True))
