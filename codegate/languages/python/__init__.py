"""Python: pytest, unittest and Django."""

from typing import Final

from codegate.languages.contract import LanguagePack
from codegate.languages.python.declarations import PYTHON
from codegate.languages.python.files import PythonFiles
from codegate.languages.syntax import same_syntax

LANGUAGE: Final = LanguagePack(
    name="python",
    suffixes=(".py",),
    files=PythonFiles,
    runners={name: f"codegate.languages.python.runners:{name.upper()}" for name in ("pytest", "unittest", "django")},
    environments="codegate.languages.python.environments:PythonSupport",
    readers=(PYTHON,),
    controls="codegate.languages.python.controls:TESTS",
    lines="codegate.languages.python.tests:DIALECTS",
    compiled=(".py", ".pyi"),
    varies=frozenset({"clock", "isolation", "load", "order", "random", "seed", "timezone"}),
    parameters="[",
    same_layout=same_syntax,
)
