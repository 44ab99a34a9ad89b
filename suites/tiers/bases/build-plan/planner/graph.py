"""What has to be built."""


class CycleError(ValueError):
    """Targets need each other in a circle."""


def stale(build: dict, goals: list[str], before: dict[str, str], now: dict[str, str]) -> set[str]:
    """Return the targets to build for ``goals``."""
    raise NotImplementedError
