"""The programming languages that mining knows, each behind the same few questions.

To add one: a class with the methods of ``LanguageSupport`` in a module here, its suffixes in ``contract``, and its
runner in ``codegate.grading.runners``.
"""

from codegate.mining.languages.contract import LanguageSupport, RunnerSettings, language_of, path_language
from codegate.mining.languages.go import Go
from codegate.mining.languages.javascript import JavaScript, same_layout
from codegate.mining.languages.python import Python

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
