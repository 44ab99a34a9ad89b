"""The commands that a page shows, and a terminal that carries them out as they stand."""

import re
import shlex
import subprocess
import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from tests.kit.command import Done
from tests.running.world import codegate

ROOT: Final = Path(__file__).resolve().parents[2]
_CODES: Final = re.compile(r"#.*\bends with ([0-9, or]+)")
# Bash reads the line, so that quotes, variables and comments are its own; codegate itself runs in a fork.
_LINE: Final = """\
codegate() {{ printf '%s\\0' "$@" >"$WORDS"; }}
(exit {status})
{command}
status=$?; pwd >"$PLACE"; exit $status
"""


@dataclass(frozen=True)
class Step:
    """A command in a console block of a page, and the output that is shown below it."""

    command: str
    shown: str
    codes: frozenset[int] = frozenset({0})

    @property
    def words(self) -> list[str]:
        return shlex.split(self.command, comments=True)


def steps(page: str, heading: str = "") -> list[Step]:
    """Return the commands of a page in order, or of its section ``heading``.

    They end with 0, with a code that their comment names, or with the one that ``echo $?`` shows after them.
    """
    text = (ROOT / page).read_text()
    if heading:
        text = re.split(rf"^## {heading}$", text, flags=re.MULTILINE)[1].split("\n## ")[0]
    found = list(_steps(text))
    for number, after in enumerate(found[1:]):
        if after.command == "echo $?":
            found[number] = replace(found[number], codes=frozenset({int(after.shown)}))
    return found


def _steps(text: str) -> Iterator[Step]:
    for block in re.findall(r"^```console\n(.*?)^```$", text, re.MULTILINE | re.DOTALL):
        for step in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]:
            command, _, shown = step.partition("\n")
            named = _CODES.search(command)
            codes = frozenset(map(int, re.findall(r"\d+", named[1]))) if named else frozenset({0})
            yield Step(command, shown.strip(), codes)


class Terminal:
    """Carries out one command after the other, where and with the status that the one before it left."""

    def __init__(self, folder: Path, environment: Mapping[str, str]) -> None:
        self._folder, self._environment, self._status = folder, environment, 0

    def enter(self, command: str) -> Done:
        with tempfile.TemporaryDirectory() as scratch:
            words, place = Path(scratch, "words"), Path(scratch, "place")
            done = subprocess.run(
                ["bash", "-c", _LINE.format(command=command, status=self._status)],
                cwd=self._folder, env={**self._environment, "WORDS": str(words), "PLACE": str(place)},
                capture_output=True, text=True, check=False,
            )  # fmt: skip
            ended = Done(done.returncode, done.stdout, done.stderr)
            self._folder = Path(place.read_text().removesuffix("\n"))
            if words.exists():
                arguments = words.read_text().split("\0")[:-1]
                ended = codegate(*arguments, cwd=self._folder, environment=self._environment)
        self._status = ended.code or 0
        return ended
