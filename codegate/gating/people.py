"""How often people solved the problems of a history.

The people's results are read from a CSV file; only counts, without names, are written to a file beside the history. The
dashboard shows them; no gate reads them.
"""

import csv
import os
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Annotated, Final, Literal

from pydantic import Field, StringConstraints

from codegate.durable import write_atomic
from codegate.errors import UsageError
from codegate.gating.baseline import parse_file
from codegate.gating.drift import pass_rate
from codegate.gating.estimates import Estimate
from codegate.strict import Strict, printable, read_bytes, read_text

_COLUMNS: Final = ("problem", "person", "solved")
_ANSWERS: Final = {"yes": True, "no": False}
_MAX_BYTES: Final = 16 << 20

_Id = Annotated[str, StringConstraints(min_length=1, max_length=200)]


class People(Strict):
    """How often people tried the problems and passed.

    ``counts`` has (passes, tries) by problem.
    """

    people_schema: Literal["codegate.people/1"] = Field(default="codegate.people/1", alias="schema")
    people: int = Field(ge=1, le=1_000_000)
    counts: Annotated[
        Mapping[_Id, tuple[Annotated[int, Field(ge=0)], Annotated[int, Field(ge=1, le=1_000_000)]]],
        Field(min_length=1, max_length=100_000),
    ]

    def words(self) -> str:
        """Return the number of people as text: ``3 people``."""
        return "one person" if self.people == 1 else f"{self.people:,} people"

    def rate_on(self, problems: Collection[str]) -> Estimate:
        """Return the pass rate on ``problems`` that people tried."""
        return pass_rate({name: counts for name, counts in self.counts.items() if name in problems})


def people_path(history: Path) -> Path:
    """Return the path of ``history.people.json`` beside a history."""
    return history.with_suffix(".people.json")


def read_people(history: Path) -> People | None:
    """Return how often people solved a history's problems.

    None if that was never recorded. Raises UsageError if the file is broken.
    """
    path = people_path(history)
    if not os.path.lexists(path):
        return None
    return parse_file(
        path, read_bytes(path, _MAX_BYTES), People, "Record it again: `codegate history human --from FILE`."
    )


def record_people(history: Path, source: Path, problems: Collection[str]) -> People:
    """Read people's results from CSV; write and return the counts.

    ``source`` is the CSV file; the counts are written beside ``history``. Raises UsageError if the table is broken, or
    names a problem that is not in ``problems``.
    """
    reader = csv.DictReader(read_text(source, _MAX_BYTES).splitlines(), strict=True)
    counts: dict[str, tuple[int, int]] = {}
    tries: set[tuple[str, str]] = set()
    try:
        if set(reader.fieldnames or ()) != set(_COLUMNS):
            raise UsageError(f"{source}: the first line is not {','.join(_COLUMNS)}.", "Write that header.")
        for row in reader:
            place = f"{source} line {reader.line_num}"
            problem, person, solved = (row[name].strip() if row[name] else "" for name in _COLUMNS)
            if None in row or not person or solved.lower() not in _ANSWERS:
                raise UsageError(f"{place} is no problem, person and yes or no.", "Correct the line.")
            if problem not in problems:
                raise UsageError(
                    f"{place}: no run of {history} has the problem {printable(problem)}.", "Correct its id."
                )
            if (problem, person) in tries:
                raise UsageError(f"{place}: {printable(person)} has two results of {problem}.", "Keep the first.")
            tries.add((problem, person))
            passed, n = counts.get(problem, (0, 0))
            counts[problem] = (passed + _ANSWERS[solved.lower()], n + 1)
    except csv.Error as error:
        raise UsageError(f"{source} line {reader.line_num} is broken: {error}.", "Correct the line.") from None
    if not counts:
        raise UsageError(f"{source} has no result.", f"Write lines of {','.join(_COLUMNS)}.")
    found = People(people=len({person for _, person in tries}), counts=counts)
    write_atomic(people_path(history), found.model_dump_json(by_alias=True, indent=2).encode("ascii") + b"\n")
    return found
