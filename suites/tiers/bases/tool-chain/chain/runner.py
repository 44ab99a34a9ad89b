"""Run a chain."""


def run(steps: list[dict], tools: dict, sleep) -> dict:
    """Run the steps one after the other, and undo them when one fails."""
    raise NotImplementedError
