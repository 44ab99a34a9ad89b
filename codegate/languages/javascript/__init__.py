"""JavaScript and TypeScript."""

from typing import Final

from codegate.languages.contract import LanguagePack
from codegate.languages.javascript.declarations import JAVASCRIPT, TYPESCRIPT
from codegate.languages.javascript.files import SUFFIXES, JavaScriptFiles

LANGUAGE: Final = LanguagePack(
    name="javascript",
    suffixes=SUFFIXES,
    files=JavaScriptFiles,
    readers=(JAVASCRIPT, TYPESCRIPT),
)
