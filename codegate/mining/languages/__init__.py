"""The programming languages that mining knows, each behind the same few questions.

To add one: a class with the methods of ``LanguageSupport`` in a module here, its suffixes in ``contract``, and its
runner in ``codegate.grading.runners``.
"""

from pathlib import Path

from codegate.mining.environments.environment import EnvironmentResolver
from codegate.mining.languages.contract import LanguageSupport, RunnerSettings, language_of, path_language
from codegate.mining.languages.go import Go, same_go_layout
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
    "same_go_layout",
    "same_layout",
]


def known_languages(
    resolver: EnvironmentResolver, repository: Path | None = None, tip: str = ""
) -> dict[Language, LanguageSupport]:
    """Return every language by its name.

    Args:
        resolver: resolves Python's environments; its interpreter watches in all sandboxes.
        repository: where the newest tree of an era may be read from; None: nowhere.
        tip: full id of its newest commit.
    """
    known: tuple[LanguageSupport, ...] = (
        Python(resolver),
        JavaScript(resolver.python, repository, tip),
        Go(resolver.python),
    )
    return {support.language: support for support in known}
