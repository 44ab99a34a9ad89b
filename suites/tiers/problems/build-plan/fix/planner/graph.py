"""What has to be built."""


class CycleError(ValueError):
    """Targets need each other in a circle."""


def ordered(build: dict, goals: list[str]) -> list[str]:
    """Return the goals and all that they need, each after what it needs."""
    done: dict[str, None] = {}
    for goal in goals:
        path: dict[str, None] = {}
        left = [(goal, iter(_needs(build, goal)))] if goal not in done else []
        path.update((name, None) for name, _ in left)
        while left:
            name, needs = left[-1]
            need = next((each for each in needs if each not in done), None)
            if need is None:
                left.pop()
                del path[name]
                done[name] = None
            elif need in path:
                names = list(path)
                cycle = names[names.index(need) :]
                first = cycle.index(min(cycle))
                raise CycleError(cycle[first:] + cycle[:first])
            else:
                path[need] = None
                left.append((need, iter(_needs(build, need))))
    return list(done)


def stale(build: dict, goals: list[str], before: dict[str, str], now: dict[str, str]) -> set[str]:
    """Return the targets to build for ``goals``."""
    found: set[str] = set()
    for name in ordered(build, goals):
        inputs = build[name].get("inputs", [])
        for file in inputs:
            if file not in now:
                raise FileNotFoundError(file)
        changed = any(before.get(file) != now[file] for file in inputs)
        if name not in before or changed or any(need in found for need in _needs(build, name)):
            found.add(name)
    return found


def _needs(build: dict, name: str) -> list[str]:
    if name not in build:
        raise KeyError(name)
    return build[name].get("needs", [])
