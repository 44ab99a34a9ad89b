"""Every language answers what the rooms ask, and a file that names an unknown one is refused."""

import pytest
from pydantic import ValidationError

from codegate.errors import UsageError
from codegate.grading.runners import find_runner
from codegate.languages import FileRules, LanguagePack, languages
from codegate.languages.controls import TestSyntax
from codegate.mining.languages import LanguageSupport, known_languages
from codegate.plugins import load_part
from codegate.suite import ProblemManifest
from tests.suite.builders import problem


@pytest.mark.parametrize("language", languages(), ids=lambda language: language.name)
def test_the_parts_of_a_language_are_what_the_rooms_ask_for(language: LanguagePack) -> None:
    assert issubclass(language.files, FileRules)
    assert language.runners
    for runner in language.runners:
        assert find_runner(runner).batches(("a", "b"))
    if language.controls:
        assert isinstance(load_part(language.controls), TestSyntax)
    support = known_languages()[language.name]
    assert isinstance(support, LanguageSupport)
    assert support.pack == language
    assert set(language.manifests.values()) <= set(language.runners)


def test_no_two_languages_share_a_name_for_something() -> None:
    for part in ("suffixes", "runners"):
        names = [name for language in languages() for name in getattr(language, part)]
        assert len(names) == len(set(names))


@pytest.mark.parametrize(("field", "known"), [("language", "go, java, javascript"), ("runner", "jest, junit")])
def test_an_unknown_name_is_refused_with_those_that_are_known(field: str, known: str) -> None:
    written = problem().manifest.model_dump(mode="json", by_alias=True)
    with pytest.raises(ValidationError, match=f"'cobol'; known are .*{known}"):
        ProblemManifest.model_validate({**written, field: "cobol"})


def test_a_runner_that_no_language_has_is_named() -> None:
    with pytest.raises(UsageError, match="no test runner is called 'cobol'"):
        find_runner("cobol")
