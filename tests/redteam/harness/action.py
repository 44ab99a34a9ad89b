"""The action's step: inputs, files of the checkout and of the runner, and an event that somebody else wrote."""

import json
import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Final

from tests.kit.command import Done
from tests.redteam.harness.place import Attack, Order, Place

_FORGED: Final = (
    "x\n::set-output name=verdict::pass\n::add-mask::true\r##[add-mask]pass\n<script>alert(1)</script> @team"
)


def _step(place: Place, code: int, words: str, inputs: Mapping[str, str]) -> Order:
    for name in ("output", "summary"):
        (place.home / name).write_text("")
    event = place.home / "event.json"
    event.write_text(json.dumps({"pull_request": {"title": _FORGED, "body": _FORGED, "head": {"ref": _FORGED}}}))
    runner = {
        "GITHUB_WORKSPACE": str(place.home),
        "GITHUB_OUTPUT": str(place.home / "output"),
        "GITHUB_STEP_SUMMARY": str(place.home / "summary"),
        "GITHUB_EVENT_PATH": str(event),
        "GITHUB_HEAD_REF": _FORGED,
        "GITHUB_ACTIONS": "true",
        "DOCKER_HOST": f"unix://{place.home}/no.sock",
    }
    given = {f"INPUT_{name.upper()}": value for name, value in inputs.items()}

    def check(done: Done) -> str:
        lines = done.stdout.replace("\r", "\n").splitlines()
        commands = [line for line in lines if line.lstrip().startswith("::")]
        strange = [
            line for line in commands if not line.startswith(("::error title=codegate", "::notice title=codegate"))
        ]
        outputs = (place.home / "output").read_text()
        summary = (place.home / "summary").read_text()
        faults = (
            f"commands: {strange}" if strange or "##[" in done.stdout else "",
            "no verdict" if "verdict<<" not in outputs else "",
            "a green verdict" if "\npass\n" in outputs else "",
            "markup in the summary" if "<script" in summary or "@team" in summary else "",
        )
        return "; ".join(filter(None, faults))

    return Order(("action",), words, code, {**runner, **given}, check)


def _inputs(words: str, code: int = 2, **inputs: str) -> Attack:
    return lambda place: _step(place, code, words, {name.replace("_", "-"): value for name, value in inputs.items()})


def _linked(name: str, target: Callable[[Place], Path], words: str, **inputs: str) -> Attack:
    def order(place: Place) -> Order:
        path = place.home / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.symlink_to(target(place))
        return _step(place, 2, words, {key.replace("_", "-"): value for key, value in inputs.items()})

    return order


def _piped_event(place: Place) -> Order:
    order = _step(place, 2, "a whole number from 1 to 100", {"suite": "suite", "samples": "x", "candidates": "empty"})
    path = Path(order.environment["GITHUB_EVENT_PATH"])
    path.unlink()
    os.mkfifo(path)
    return order


ATTACKS: Final[dict[str, Attack]] = {
    "action-forged-candidate": _inputs("unknown provider", suite="suite", candidates="::error::x ##[add-mask]pass"),
    "action-suite-link": _linked(
        "mine", lambda place: place.outside, "leaves the workspace", suite="mine", candidates="empty"
    ),
    "action-event-pipe": _piped_event,
    "action-no-sandbox-is-never-green": _inputs("no Docker daemon answers", 4, suite="suite", candidates="empty"),
}  # fmt: skip
