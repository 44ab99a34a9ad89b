"""Attacks by what a suite says: it asks for privileges, for files of the host, for an image that can move."""

import re
from collections.abc import Collection, Iterator
from pathlib import Path
from typing import Final

from tests.redteam.battery import Row, codegate

_PREDICTION: Final = '{"instance_id": "cell", "model_name_or_path": "m", "model_patch": ""}\n'

_WISHES: Final[dict[str, str]] = {
    "sb_17_privileged": "privileged: true",
    "sb_17_mounts": "mounts: ['/:/host']",
    "sb_17_network": "network: host",
    "sb_17_capabilities": "cap_add: [SYS_ADMIN]",
    "sb_17_devices": "devices: [/dev/kvm]",
    "sb_17_variables": "env: [OPENAI_API_KEY]",
    "sb_17_runtime": "runtime: runc",
    "sb_17_sandbox": "sandbox: none",
}
_IMAGES: Final[dict[str, str]] = {
    "sb_32_image_by_tag": "image: python:3.11-slim-bookworm",
    "sb_32_image_as_argument": "image: '--volume=/etc/hostname:/leak'",
    "sb_32_image_from_anywhere": f"image: 127.0.0.1:1/evil/image@sha256:{'0' * 64}",
}
_EVERYWHERE: Final = {"sb_17_privileged", "sb_17_mounts"}
_REFUSED: Final = {2, 4}


def run(suite: Path, sandbox: str, only: Collection[str] | None = None) -> Iterator[Row]:
    """Grade an empty patch on the suite with each wish added to it."""
    predictions = suite.parent / "predictions-empty.jsonl"
    predictions.write_text(_PREDICTION)
    manifest, problem = suite / "suite.yml", next(suite.glob("problems/*/problem.yml"))
    for name, wish in (*_WISHES.items(), *_IMAGES.items()):
        if only is not None and name not in only:
            continue
        for path in (manifest, problem) if name in _EVERYWHERE else (manifest,):
            before = path.read_text()
            path.write_text(_with(before, wish, image=name in _IMAGES))
            try:
                done = codegate(
                    "grade", suite, "--predictions", predictions, "--sandbox", sandbox, "--json", timeout=120
                )
            finally:
                path.write_text(before)
            said = (done.stderr or done.stdout).decode("utf-8", "replace").strip().splitlines()
            held = done.returncode in _REFUSED and b"Traceback" not in done.stderr
            yield Row("sandbox", name, sandbox, "refused", f"exit {done.returncode}: {(said or [''])[-1][-90:]}", held)


def _with(text: str, wish: str, *, image: bool) -> str:
    """Return a manifest with another key: of its first environment, or at its top."""
    if not image:
        return f"{wish}\n{text}"
    return re.sub(r"(?m)^(\s*)image:.*$", rf"\1{wish}", text, count=1)
