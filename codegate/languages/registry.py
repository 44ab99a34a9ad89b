"""Find languages: the folders here, and entry points.

The entry points are those of the group ``codegate.languages``.
"""

from functools import cache
from pathlib import PurePosixPath

from codegate.errors import UsageError
from codegate.languages.contract import LanguagePack
from codegate.plugins import language_names, load_language


@cache
def languages() -> tuple[LanguagePack, ...]:
    """Return all languages, ours first.

    Raises:
        UsageError: another package's language cannot be loaded, or is no ``LanguagePack``.
    """
    return tuple(map(_language, language_names()))


def path_language(path: str) -> LanguagePack | None:
    """Return a file's language by its suffix, or None."""
    return _by_suffix().get(PurePosixPath(path).suffix)


def controls_of(runner: str) -> str:
    """Return a runner's ``TestSyntax`` as ``module:object``, or ""."""
    return next((language.controls for language in languages() if runner in language.runners), "")


def _language(name: str) -> LanguagePack:
    found = load_language(name)
    if not isinstance(found, LanguagePack) or found.name != name:
        raise UsageError(
            f"the entry point {name!r} of codegate.languages is no LanguagePack of that name.", "Update the package."
        )
    return found


@cache
def _by_suffix() -> dict[str, LanguagePack]:
    return {suffix: language for language in reversed(languages()) for suffix in language.suffixes}
