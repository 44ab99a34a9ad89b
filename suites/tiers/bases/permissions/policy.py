"""Who may do what."""


class Policy:
    """Roles, and who has them."""

    def __init__(self, roles: dict, bindings: list[dict]) -> None:
        raise NotImplementedError

    def decide(self, user: str, groups: list[str], action: str, path: str, now: int) -> tuple[bool, str]:
        """Return whether the user may do it, and by which rule."""
        raise NotImplementedError

    def allowed_actions(self, user: str, groups: list[str], actions: list[str], path: str, now: int) -> list[str]:
        """Return those of the actions that the user may do."""
        raise NotImplementedError
