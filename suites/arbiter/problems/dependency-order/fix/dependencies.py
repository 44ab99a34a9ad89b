"""Put tasks in an order in which each comes after all that it needs."""

from collections.abc import Iterable, Mapping
from heapq import heapify, heappop, heappush


class CycleError(ValueError):
    """Tasks need each other: ``cycle`` has them, each of which needs the next, and the last the first."""

    def __init__(self, cycle: list[str]) -> None:
        super().__init__(" -> ".join([*cycle, cycle[0]]))
        self.cycle = cycle


def order(needs: Mapping[str, Iterable[str]]) -> list[str]:
    """Return all tasks, each after all that it needs."""
    return _order(_graph(needs))


def starts(needs: Mapping[str, Iterable[str]], seconds: Mapping[str, int]) -> dict[str, int]:
    """Return when each task starts, if each starts as soon as it can."""
    graph = _graph(needs)
    found: dict[str, int] = {}
    for name in _order(graph):
        found[name] = max((found[need] + seconds.get(need, 0) for need in graph[name]), default=0)
    return found


def _graph(needs: Mapping[str, Iterable[str]]) -> dict[str, set[str]]:
    graph = {name: set(others) for name, others in needs.items()}
    for others in list(graph.values()):
        for other in others:
            graph.setdefault(other, set())
    return graph


def _order(graph: dict[str, set[str]]) -> list[str]:
    users: dict[str, list[str]] = {name: [] for name in graph}
    for name, others in graph.items():
        for other in others:
            users[other].append(name)
    waiting = {name: len(others) for name, others in graph.items()}
    ready = [name for name, count in waiting.items() if not count]
    heapify(ready)
    done = []
    while ready:
        name = heappop(ready)
        done.append(name)
        for user in users[name]:
            waiting[user] -= 1
            if not waiting[user]:
                heappush(ready, user)
    if len(done) < len(graph):
        raise CycleError(_cycle({name: others for name, others in graph.items() if waiting[name]}))
    return done


def _cycle(graph: dict[str, set[str]]) -> list[str]:
    """Return a cycle, where each task needs another one of ``graph``."""
    path: dict[str, None] = {}
    name = min(graph)
    while name not in path:
        path[name] = None
        name = min(other for other in graph[name] if other in graph)
    names = list(path)
    return names[names.index(name) :]
