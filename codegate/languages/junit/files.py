"""Recognise tests of other languages by file and folder names."""

import re
from pathlib import PurePosixPath
from typing import Final

from typing_extensions import override

from codegate.languages.contract import FileRules
from codegate.languages.registry import path_language

_SUFFIX: Final = re.compile(
    r"\.(bats|c|cc|cljs?|cpp|cs|cxx|d|dart|erl|exs?|f90|fs|groovy|h|hpp|hs|jl|kts?|lua|mm?|ml|nim|php|p[lm]|ps1|r|rb"
    r"|scala|sh|swift|t|vb|zig)",
    re.IGNORECASE,
)
_FOLDERS: Final = frozenset({"test", "tests", "spec", "specs", "t"})
_NAME: Final = re.compile(
    r"([Tt]ests?|[Ss]pec)[._-].*|.*[._-]([Tt]ests?|[Ss]pec)|Test[A-Z].*|.*[a-z0-9](Tests?|TestCase|Spec)"
)


class UnsupportedLanguageFiles(FileRules):
    """Finds tests of languages that codegate has no rules for."""

    @override
    def is_test(self, path: str) -> bool:
        *folders, name = path.split("/")
        file = PurePosixPath(name)
        if _SUFFIX.fullmatch(file.suffix) is None or path_language(path) is not None:
            return False
        return _NAME.fullmatch(file.stem) is not None or not _FOLDERS.isdisjoint(folders)

    @override
    def is_test_area(self, path: str) -> bool:
        return self.is_test(path)
