"""What is known of a sandbox's walls: what it is made of, what was tried on it, and what it does not promise."""

import re
from collections.abc import Iterator
from typing import Final

from pydantic import BaseModel, ConfigDict, Field

from codegate.sandbox.contract import Description

_KNOWN_ESCAPES: Final = (
    ("runc", (0,), (1, 1, 12), "CVE-2024-21626"),
    ("runc", (0,), (1, 2, 8), "CVE-2025-31133, CVE-2025-52565 and CVE-2025-52881"),
    ("runc", (1, 3), (1, 3, 3), "CVE-2025-31133, CVE-2025-52565 and CVE-2025-52881"),
    ("docker", (0,), (20, 10, 18), "CVE-2022-36109"),
)
"""Program, first and fixed version of known ways out, from the advisories of opencontainers/runc and moby/moby."""


class Finding(BaseModel):
    """One wall that was looked at, or one limit that was run into."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    check: str = Field(max_length=100)
    held: bool
    evidence: str = Field(max_length=2000, description="What was seen, as JSON.")


class Assurance(BaseModel):
    """The walls of one kind of environment, found standing before anything untrusted ran there."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    sandbox: str = Field(max_length=100, description="What to choose to get the same kind again: `docker`, `bwrap`.")
    tier: str = Field(max_length=100, description="What contains the code: `runc`, `runsc`, `kata`, `bubblewrap`.")
    engine: str = Field(max_length=200, description="What manages the sandboxes, with its version.")
    runtime: str = Field(max_length=200, description="What makes their walls, with its version.")
    kernel: str = Field(max_length=200, description="Release of the kernel that the code talks to.")
    environment: str = Field(max_length=200, description="Identity of the environment that was looked at.")
    checks: tuple[Finding, ...] = Field(max_length=100)
    weaknesses: tuple[str, ...] = Field(max_length=20, description="What this sandbox does not promise, a clause each.")

    @property
    def words(self) -> str:
        """Return it in a few words, for a report: ``verified (docker, runc 1.1.5)``."""
        return f"verified ({self.sandbox}, {self.runtime})"

    @property
    def place(self) -> tuple[str, str, str, str]:
        """Return what it is about; of two with the same place the later one counts."""
        return (self.sandbox, self.engine, self.runtime, self.environment)


def assure(description: Description, environment: str, kernel: str, checks: tuple[Finding, ...]) -> Assurance:
    """Return the assurance of a kind of environment whose walls were all found standing.

    Args:
        description: what the backend says of itself.
        environment: identity of the environment.
        kernel: release of the kernel as seen from inside.
        checks: what was tried.
    """
    return Assurance(
        sandbox=description.name,
        tier=description.tier,
        engine=description.engine,
        runtime=description.runtime,
        kernel=kernel[:200],
        environment=environment[:200],
        checks=checks,
        weaknesses=(*description.weaknesses, *known_escapes(description.engine, description.runtime)),
    )


def known_escapes(*programs: str) -> tuple[str, ...]:
    """Return a clause for each of ``programs`` (``runc 1.1.5``) that has known ways out by its version number.

    Distributions mend under an old number, so this is a warning and never a refusal.
    """
    found = {program: tuple(_open(program)) for program in programs}
    return tuple(
        f"{program} has a number older than what mended {', '.join(open_ones)}: see that your package does"
        for program, open_ones in found.items()
        if open_ones
    )


def _open(program: str) -> Iterator[str]:
    match = re.match(r"(\S+) v?(\d+(?:\.\d+)*)", program)
    if match is not None:
        version = tuple(int(part[:9]) for part in match[2].split("."))
        for name, first, fixed, names in _KNOWN_ESCAPES:
            if match[1].lower() == name and first <= version < fixed:
                yield f"{names} ({'.'.join(map(str, fixed))})"
