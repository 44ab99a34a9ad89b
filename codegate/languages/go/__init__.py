"""Go: ``go test`` and testify."""

from typing import Final

from codegate.languages.contract import LanguagePack
from codegate.languages.go.declarations import GO
from codegate.languages.go.files import GoFiles

LANGUAGE: Final = LanguagePack(
    name="go",
    suffixes=(".go",),
    files=GoFiles,
    runners={"go": "codegate.languages.go.runners:GO"},
    manifests={"go.mod": "go"},
    environments="codegate.languages.go.environments:GoSupport",
    readers=(GO,),
    controls="codegate.languages.go.controls:TESTS",
    lines="codegate.languages.go.tests:DIALECTS",
    varies=frozenset({"isolation", "order", "random", "timezone"}),
    parameters="/",
)
