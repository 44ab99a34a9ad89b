"""Run a chain."""

from chain.checks import check
from chain.values import fill


def run(steps: list[dict], tools: dict, sleep) -> dict:
    """Run the steps one after the other, and undo them when one fails."""
    faults = check(steps, tools)
    if faults:
        raise ValueError("; ".join(faults))
    results: dict = {}
    done: list[dict] = []
    ended = {"results": results, "failed": None, "error": None, "undone": [], "not_undone": []}
    for step in steps:
        try:
            if "when" in step and not fill(step["when"], results):
                results[step["id"]] = None
                continue
            results[step["id"]] = _call(step, tools, results, sleep)
        except Exception as error:
            ended |= {"failed": step["id"], "error": error}
            break
        done.append(step)
    else:
        return ended
    for step in reversed(done):
        if "undo" not in step:
            continue
        try:
            tools[step["undo"]["tool"]](**fill(step["undo"].get("with", {}), results))
        except Exception:
            ended["not_undone"].append(step["id"])
        else:
            ended["undone"].append(step["id"])
    return ended


def _call(step: dict, tools: dict, results: dict, sleep) -> object:
    arguments = fill(step.get("with", {}), results)
    for repetition in range(step.get("retries", 0)):
        try:
            return tools[step["tool"]](**arguments)
        except PermissionError:
            raise
        except Exception:
            sleep(2**repetition)
    return tools[step["tool"]](**arguments)
