"""Which variant of a feature a user gets."""


class Flags:
    """Features that some users have."""

    def __init__(self, definitions: dict) -> None:
        raise NotImplementedError

    def variant(self, flag: str, user: dict) -> str:
        """Return the variant that ``user`` gets."""
        raise NotImplementedError
