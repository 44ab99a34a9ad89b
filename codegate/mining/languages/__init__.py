"""The programming languages that mining knows, each behind the same few questions.

To add one: a class with the methods of ``LanguageSupport`` in a module here, its suffixes in ``contract``, and its
runner in ``codegate.grading.runners``.
"""

from pathlib import Path

from codegate.mining.environment import EnvironmentResolver
from codegate.mining.languages.contract import LanguageSupport, RunnerSettings, language_of, path_language
from codegate.mining.languages.go import Go
from codegate.mining.languages.javascript import JavaScript, same_layout
from codegate.mining.languages.python import Python
from codegate.suite import Language

__all__ = [
    "Go",
    "JavaScript",
    "LanguageSupport",
    "Python",
    "RunnerSettings",
    "language_of",
    "path_language",
    "same_layout",
]


def known_languages(python: str, repository: Path | None = None, tip: str = "") -> dict[Language, LanguageSupport]:
    """Return every language by its name.

    Args:
        python: minor version of the interpreter in sandboxes.
        repository: where the newest tree of an era may be read from; None: nowhere.
        tip: full id of its newest commit.
    """
    known: tuple[LanguageSupport, ...] = (
        Python(EnvironmentResolver(python)),
        JavaScript(python, repository, tip),
        Go(python),
    )
    return {support.language: support for support in known}
