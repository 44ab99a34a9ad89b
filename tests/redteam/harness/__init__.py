"""Attacks on what runs on the host: everything that codegate reads, asks or prints and that somebody else wrote.

Most of them never come as far as a sandbox: which kind it is makes no difference to them, so ``run`` carries them out
for one kind only.
"""

import os
import shutil
from collections.abc import Callable, Collection, Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

from tests.kit.command import FORKER
from tests.redteam.battery import Row
from tests.redteam.harness import action, files, providers, suites
from tests.redteam.harness.place import OUTSIDE, SECRETS, Order, Place, build, judge

MEMORY: Final = 4 << 30
"""Address space of a command: an input that asks for more ends it with a traceback, which no attack may cause."""

ATTACKS: Final[dict[str, Callable[[Place], Order]]] = {**suites.ATTACKS, **files.ATTACKS, **action.ATTACKS}


def run(sandbox: str, only: Collection[str] | None = None) -> Iterator[Row]:
    """Carry out the attacks, or those of them in ``only``; those without a sandbox for ``bwrap`` alone."""
    chosen = {name: make for name, make in ATTACKS.items() if sandbox == "bwrap" and (only is None or name in only)}
    with TemporaryDirectory(prefix="codegate-harness-") as name:
        folder = Path(name)
        if chosen:
            build(folder / "built")
        for number, (attack, make) in enumerate(chosen.items()):
            home = folder / str(number)
            shutil.copytree(folder / "built", home / "here", symlinks=True)
            (home / "outside").mkdir()
            (home / "outside" / "file").write_text(OUTSIDE)
            order = make(Place(home / "here"))
            environment = {**os.environ, **SECRETS, **order.environment}
            done = FORKER.run(
                *order.arguments, cwd=home / "here", environment=environment, seconds=60, memory_bytes=MEMORY
            )
            wrong = judge(order, done)
            if [path.name for path in (home / "outside").iterdir()] != ["file"]:
                wrong = f"it wrote outside; {wrong}"
            expected = f"exit {order.code}: {order.words}" if order.words else f"exit {order.code}"
            yield Row("harness", attack, sandbox, expected, wrong or "as expected", not wrong)
            shutil.rmtree(home, ignore_errors=True)
        yield from providers.run(sandbox, only, folder / "providers")
