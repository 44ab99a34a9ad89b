"""The programming languages that mining knows, each behind the same few questions.

To add one: a class with the methods of ``LanguageSupport`` in a module here, its suffixes in ``contract``, and its
runner in ``codegate.grading.runners``.
"""

from codegate.mining.environments.environment import EnvironmentResolver
from codegate.mining.languages.contract import LanguageSupport, RunnerSettings, language_of, same_layout
from codegate.mining.languages.go import Go
from codegate.mining.languages.javascript import JavaScript
from codegate.mining.languages.python import Python
from codegate.suite import Language

__all__ = [
    "Go",
    "JavaScript",
    "LanguageSupport",
    "Python",
    "RunnerSettings",
    "language_of",
    "same_layout",
]


def known_languages(resolver: EnvironmentResolver) -> dict[Language, LanguageSupport]:
    """Return every language by its name; the interpreter of ``resolver`` watches in all sandboxes."""
    known = (Python(resolver), JavaScript(resolver.python, resolver.eras), Go(resolver.python))
    return {support.language: support for support in known}
