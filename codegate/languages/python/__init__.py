"""Python."""

from typing import Final

from codegate.languages.contract import LanguagePack
from codegate.languages.python.declarations import PYTHON
from codegate.languages.python.files import PythonFiles
from codegate.languages.syntax import same_syntax

LANGUAGE: Final = LanguagePack(
    name="python",
    suffixes=(".py",),
    files=PythonFiles,
    readers=(PYTHON,),
    same_layout=same_syntax,
)
