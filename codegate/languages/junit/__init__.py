"""Any language: a command that a person gives runs the tests, and what it writes is JUnit XML."""

from typing import Final

from codegate.languages.contract import FileRules, LanguagePack

LANGUAGE: Final = LanguagePack(
    name="junit",
    suffixes=(),
    files=FileRules,
    runners={"junit": "codegate.languages.junit.runners:JUNIT"},
)
