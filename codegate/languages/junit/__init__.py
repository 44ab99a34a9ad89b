"""Any other language, by a command that writes JUnit XML.

Its problems have no controls.
"""

from typing import Final

from codegate.languages.contract import LanguagePack
from codegate.languages.junit.files import UnsupportedLanguageFiles

LANGUAGE: Final = LanguagePack(
    name="junit",
    suffixes=(),
    files=UnsupportedLanguageFiles,
    runners={"junit": "codegate.languages.junit.runners:JUNIT"},
    varies=frozenset({"seed"}),
)
