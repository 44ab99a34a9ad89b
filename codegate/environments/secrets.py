"""Read set-up's secrets; find them in texts and built archives."""

import base64
import os
import re
import tarfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final
from urllib.parse import quote, unquote

from codegate.candidates import Redactor
from codegate.environments.recipe import Recipe
from codegate.errors import UsageError
from codegate.sandbox import SandboxError

SHORTEST: Final = 8
"""Fewest characters of a secret; a shorter text could occur anywhere by chance."""
_PIECE: Final = 4 << 20
_USER: Final = re.compile(r"//([^/\s@:]*):([^/\s]*)@")


class SecretInArchive(SandboxError):
    """A built archive contains a secret that set-up was given."""


def secret_values(recipe: Recipe) -> dict[str, str]:
    """Return the values of the recipe's secrets, by variable.

    They come from the caller's environment and are given to set-up only.

    Raises:
        UsageError: a variable is not set, or its value is too short to search for.
    """
    if missing := [name for name in recipe.secrets if not os.environ.get(name)]:
        raise UsageError(
            f"environment.secrets: {', '.join(missing)} not set.", "Set it, or remove it from codegate.yml."
        )
    found = {name: os.environ[name] for name in recipe.secrets}
    if short := [name for name, value in found.items() if len(value) < SHORTEST]:
        raise UsageError(
            f"environment.secrets: {', '.join(short)} has fewer than {SHORTEST} characters.",
            "Nothing could tell whether it was left in what is built: use a longer one.",
        )
    return found


def redactor_of(secrets: Mapping[str, str]) -> Redactor:
    """Return a redactor that hides secrets and passwords inside them."""
    return Redactor(*(part for value in secrets.values() for part in _parts(value)))


def check_archive(archive: Path, secrets: Mapping[str, str]) -> None:
    """Refuse an archive that holds a secret.

    Its bytes are searched for the secret as it is, percent-encoded and in base64.

    Raises:
        SecretInArchive: the archive has one; the message names the file.
    """
    wanted = {form: name for name, value in secrets.items() for part in _parts(value) for form in _forms(part)}
    if not wanted or not any(form in piece for piece in _pieces(archive) for form in wanted):
        return
    place, name = _place(archive, wanted)
    raise SecretInArchive(
        f"set-up left the secret {name} in {place}.",
        "Let the last command of `setup` remove the file, or have the tool read the variable each time.",
    )


def _parts(value: str) -> Iterator[str]:
    """Yield a secret, and the credentials of URLs in it."""
    yield value
    for user, password in _USER.findall(value):
        yield f"{user}:{password}"
        yield f"{unquote(user)}:{unquote(password)}"
        yield from (word for word in (password, unquote(password)) if len(word) >= SHORTEST)


def _forms(part: str) -> Iterator[bytes]:
    for text in {part, quote(part, safe="")}:
        yield text.encode()
    yield base64.b64encode(part.encode()).rstrip(b"=")


def _pieces(archive: Path) -> Iterator[bytes]:
    """Yield an archive's bytes; pieces overlap by 4096 bytes."""
    end = b""
    with archive.open("rb") as file:
        while data := file.read(_PIECE):
            yield end + data
            end = data[-4096:]


def _place(archive: Path, wanted: Mapping[bytes, str]) -> tuple[str, str]:
    """Return a file with a secret, and the secret's name.

    ``wanted`` has the secrets' names by the bytes to search for.
    """
    with tarfile.open(archive, "r:") as members:
        for member in members:
            file = members.extractfile(member) if member.isreg() else None
            whole = f"{member.name}\0{member.linkname}".encode() + (file.read() if file is not None else b"")
            if (form := next((form for form in wanted if form in whole), None)) is not None:
                root, _, rest = member.name.partition("/")
                return f"{ {'env': '/opt/env', 'tree': '/workspace'}.get(root, root) }/{rest}", wanted[form]
    return "what it built", next(iter(wanted.values()))
