"""When and where targets are built."""


def schedule(build: dict, targets: set[str], workers: int) -> list[tuple[int, int, str]]:
    """Return start, worker and name of each target."""
    raise NotImplementedError
