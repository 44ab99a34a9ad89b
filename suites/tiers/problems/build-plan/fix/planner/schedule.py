"""When and where targets are built."""

import heapq

from planner.graph import ordered


def schedule(build: dict, targets: set[str], workers: int) -> list[tuple[int, int, str]]:
    """Return start, worker and name of each target."""
    if workers < 1:
        raise ValueError("at least one worker is needed")
    order = [name for name in ordered(build, sorted(targets)) if name in targets]
    seconds = {name: build[name].get("seconds", 0) for name in order}
    waits = {name: {need for need in build[name].get("needs", []) if need in targets} for name in order}
    users: dict[str, list[str]] = {name: [] for name in order}
    for name, needs in waits.items():
        for need in needs:
            users[need].append(name)
    way: dict[str, int] = {}
    for name in reversed(order):
        way[name] = seconds[name] + max((way[user] for user in users[name]), default=0)
    ready = [(-way[name], name) for name in order if not waits[name]]
    heapq.heapify(ready)
    free = list(range(workers))
    running: list[tuple[int, int, str]] = []
    planned, now = [], 0
    while ready or running:
        while ready and free:
            _, name = heapq.heappop(ready)
            worker = heapq.heappop(free)
            planned.append((now, worker, name))
            heapq.heappush(running, (now + seconds[name], worker, name))
            if not seconds[name]:
                break
        now = running[0][0]
        while running and running[0][0] == now:
            _, worker, name = heapq.heappop(running)
            heapq.heappush(free, worker)
            for user in users[name]:
                waits[user].discard(name)
                if not waits[user]:
                    heapq.heappush(ready, (-way[user], user))
    return sorted(planned)
