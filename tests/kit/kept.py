"""Recorded builds that tests only use, kept from one run to the next: those of an empty tree.

A run has links to them in its cache. All others are under test: each run makes them anew.
"""

import json
import os
import shutil
import time
from contextlib import suppress
from pathlib import Path
from typing import Any, Final

from codegate.sandbox import cache_folder
from codegate.suite import Tree

_SECONDS: Final = 86_400
"""After which one that no run used is removed."""


def own_cache(folder: Path) -> str:
    """Make ``folder`` a cache that is empty but for the programs of the present one; return it.

    Those that every sandbox has would be installed again.
    """
    programs = cache_folder() / "programs"
    programs.mkdir(parents=True, exist_ok=True)
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "programs").symlink_to(programs.resolve())
    return str(folder)


def take_kept(kept: Path, layers: Path) -> None:
    """Put all builds of ``kept`` into ``layers``, the folder of a run's cache: links, and a copy of what describes one.

    A description that is a link is not read.
    """
    layers.mkdir(parents=True)
    for path in kept.glob("*.json"):
        with suppress(FileNotFoundError):  # another run has removed it just now
            shutil.copy2(path, layers)
        for place in _places(path):
            if place != path:
                (layers / place.name).symlink_to(place)


def keep_finished(layers: Path, kept: Path) -> None:
    """Move builds of an empty tree from ``layers`` to ``kept``, which lacks such ones, and remove old ones there."""
    kept.mkdir(parents=True, exist_ok=True)
    known = {_facts(path)["inputs"] for path in kept.glob("*.json")}  # those of other runs at the same time
    for path in layers.glob("*.json"):
        if (taken := kept / path.name).exists():
            os.utime(taken, ns=(path.stat().st_atime_ns, path.stat().st_mtime_ns))  # when it was used last
            continue
        facts = _facts(path)
        if facts["tree"] == Tree().digest() and facts["inputs"] not in known:
            for place in _places(path):
                shutil.move(place, kept / place.name)
    for path in kept.glob("*.json"):
        if time.time() - path.stat().st_mtime > _SECONDS:
            for place in _places(path):
                shutil.rmtree(place) if place.is_dir() else place.unlink()


def _facts(path: Path) -> dict[str, Any]:
    facts: dict[str, Any] = json.loads(path.read_text())
    return facts


def _places(path: Path) -> list[Path]:
    """Return where a build is, by its JSON, which comes last: its archive, and what is unpacked of it."""
    return [place for place in (path.with_suffix(".tar"), path.with_suffix(""), path) if place.exists()]
