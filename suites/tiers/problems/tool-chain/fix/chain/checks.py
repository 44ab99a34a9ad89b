"""Check a chain before anything is called."""

from chain.values import references


def check(steps: list[dict], tools: dict) -> list[str]:
    """Return the faults of a chain."""
    faults: list[str] = []
    before: set[str] = set()
    for step in steps:
        name, undo = step["id"], step.get("undo", {})
        if name in before:
            faults.append(f"{name}: duplicate id")
        for part in (step, undo):
            if part and part["tool"] not in tools:
                faults.append(f"{name}: unknown tool {part['tool']}")
        asked = [*references(step.get("when")), *references(step.get("with"))]
        faults += [f"{name}: unknown step {other}" for other in asked if other not in before]
        before.add(name)
        faults += [f"{name}: unknown step {other}" for other in references(undo.get("with")) if other not in before]
    return faults
