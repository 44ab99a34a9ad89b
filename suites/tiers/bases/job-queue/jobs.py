"""Jobs in an SQLite file."""


class LeaseLost(Exception):
    """The worker no longer has the job."""


class Queue:
    """The jobs in one file. Each call opens the file for itself, so that threads can share a queue."""

    def __init__(self, path: str, clock, lease: int = 60, attempts: int = 3) -> None:
        raise NotImplementedError

    def add(self, name: str, data: object, key: str | None = None, after: int = 0, priority: int = 0) -> int:
        raise NotImplementedError

    def take(self, names: list[str]) -> dict | None:
        raise NotImplementedError

    def done(self, job: int, token: str) -> None:
        raise NotImplementedError

    def fail(self, job: int, token: str, error: str) -> None:
        raise NotImplementedError

    def extend(self, job: int, token: str) -> None:
        raise NotImplementedError

    def counts(self) -> dict[str, int]:
        raise NotImplementedError

    def dead(self) -> list[tuple[int, str, str]]:
        raise NotImplementedError

    def revive(self, job: int) -> None:
        raise NotImplementedError
