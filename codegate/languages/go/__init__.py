"""Go."""

from typing import Final

from codegate.languages.contract import LanguagePack
from codegate.languages.go.declarations import GO
from codegate.languages.go.files import GoFiles

LANGUAGE: Final = LanguagePack(
    name="go",
    suffixes=(".go",),
    files=GoFiles,
    readers=(GO,),
)
