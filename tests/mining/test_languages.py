"""Which language a change is written in."""

import sys

import pytest

from codegate.mining.environments.environment import EnvironmentResolver
from codegate.mining.languages import LanguageSupport, Python, language_of
from codegate.suite import Language


@pytest.mark.parametrize(
    ("sources", "tests", "language"),
    [
        (["a.py"], [], "python"),
        (["lib/a.ts", "lib/b.js"], [], "javascript"),
        (["main.go"], [], "go"),
        (["a.py", "b.js", "c.js"], [], "javascript"),
        (["a.py", "b.js", "c.js"], ["test_a.py"], "python"),
        (["a.css", "b.html"], ["test_a.py"], None),
        ([], [], None),
    ],
)
def test_the_language_is_the_one_of_most_sources_and_with_tests(
    sources: list[str], tests: list[str], language: Language | None
) -> None:
    assert language_of(sources, tests) == language


def test_python_answers_as_a_language() -> None:
    support: LanguageSupport = Python(EnvironmentResolver(f"{sys.version_info[0]}.{sys.version_info[1]}"))
    assert support.language == "python"
    assert support.same_syntax(b"x = 1\n", b"x  =  1 # one\n")
    assert not support.same_syntax(b"x = 1\n", b"x = 2\n")
