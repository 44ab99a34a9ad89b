"""Check a chain before anything is called."""


def check(steps: list[dict], tools: dict) -> list[str]:
    """Return the faults of a chain."""
    raise NotImplementedError
