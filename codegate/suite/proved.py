"""``proved.json``: the sandboxes on which a suite was proved.

Proved means: ``codegate validate`` ran each problem there, and the hidden tests gave their required results with and
without the fix. The file is no part of the suite's digest.
"""

import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Final, Literal

from pydantic import Field, StringConstraints

from codegate.durable import write_atomic
from codegate.strict import Strict
from codegate.suite.loaded import Suite
from codegate.suite.model import Sha256, Slug
from codegate.suite.reader import read_json

PROVED: Final = "proved.json"
SANDBOX: Final = "sandbox"
"""The field of a place that names the kind of sandbox."""
BASE_IMAGE: Final = "environment base image"
"""Prefix of a place's other fields: one for each version of Python whose sandboxes have an image."""
_IMAGE_FIELD: Final = re.compile(rf"{BASE_IMAGE} \(Python ([0-9.]+)\)")
_MOST_PLACES: Final = 8

_Text = Annotated[str, StringConstraints(min_length=1, max_length=400)]


def sandbox_place(sandbox: str, images: Mapping[str, str]) -> dict[str, str]:
    """Return a *place*: the kind of sandbox and its images.

    ``images`` maps versions of Python to base images.
    """
    return {SANDBOX: sandbox, **{f"{BASE_IMAGE} (Python {python})": name for python, name in images.items()}}


def images_of(conditions: Mapping[str, str]) -> dict[str, str]:
    """Return base images by Python version, from a run's conditions."""
    found = ((_IMAGE_FIELD.fullmatch(field), name) for field, name in conditions.items())
    return {match[1]: name for match, name in found if match}


def is_place_field(field: str) -> bool:
    """Return whether ``field`` is a key of a place (``sandbox_place``)."""
    return field == SANDBOX or field.startswith(BASE_IMAGE)


def describe_place(place: Mapping[str, str]) -> str:
    """Return a place as text for people: ``docker (python@sha256:…)``."""
    images = ", ".join(sorted({name for field, name in place.items() if field.startswith(BASE_IMAGE)}))
    return f"{place[SANDBOX]} ({images})" if images else place[SANDBOX]


class ProvedEnvironment(Strict):
    """An environment's interpreter and packages during a proof."""

    python: _Text = Field(description="Full version of the interpreter.")
    packages: Sha256 = Field(description="Digest of the installed packages and their versions.")


class ProvedPlace(Strict):
    """The newest proof of a suite at one place."""

    place: dict[_Text, _Text] = Field(description="Kind of sandbox, and base images by digest.")
    validated: _Text = Field(description="UTC time, ISO 8601.")
    rounds: int = Field(ge=1, description="How often each state of each problem was run.")
    environments: dict[Slug, ProvedEnvironment] = Field(description="What was found, by environment.")
    problems: dict[Slug, Sha256] = Field(description="Digests of the problems that showed what they claim.")


class ProvedPlaces(Strict):
    """The content of ``proved.json``."""

    proved_schema: Literal["codegate.proved/1"] = Field(default="codegate.proved/1", alias="schema")
    places: tuple[ProvedPlace, ...] = Field(max_length=_MOST_PLACES)


def read_proved(folder: Path) -> tuple[ProvedPlace, ...]:
    """Return the newest proof for each place, oldest first."""
    path = folder / PROVED
    return read_json(path, ProvedPlaces).places if os.path.lexists(path) else ()


def record_proved(folder: Path, proved: ProvedPlace) -> None:
    """Add a proof to ``proved.json``, replacing the place's older one."""
    others = [one for one in read_proved(folder) if one.place != proved.place]
    file = ProvedPlaces(places=(*others, proved)[-_MOST_PLACES:])
    write_atomic(folder / PROVED, file.model_dump_json(indent=2, by_alias=True).encode("utf-8") + b"\n")


def proved_places(suite: Suite, here: Mapping[str, str]) -> tuple[dict[str, str], ...]:
    """Return the places where every active problem was proved.

    A place is a kind of sandbox with its base images; returned places have the interpreters, too. ``here`` is this
    machine's place. If the suite was proved here too, places whose packages or minor Python versions differ are left
    out.
    """
    problems = {problem.id: problem.digest for problem in suite.active}
    environments = {problem.environment.id for problem in suite.active}
    whole = [
        one
        for one in suite.proved
        if problems.items() <= one.problems.items() and environments <= one.environments.keys()
    ]
    own = next((one for one in whole if here.items() <= one.place.items()), None)
    return tuple(
        {**one.place, **_interpreters(one, environments)}
        for one in whole
        if own is None or all(_alike(one.environments[name], own.environments[name]) for name in environments)
    )


def _alike(one: ProvedEnvironment, other: ProvedEnvironment) -> bool:
    return one.packages == other.packages and _minor(one.python) == _minor(other.python)


def _interpreters(proved: ProvedPlace, environments: set[str]) -> dict[str, str]:
    found = sorted({proved.environments[name].python for name in environments})
    return {
        f"interpreter (Python {minor})": ", ".join(version for version in found if _minor(version) == minor)
        for minor in sorted(set(map(_minor, found)))
    }


def _minor(version: str) -> str:
    return ".".join(version.split(".")[:2])
