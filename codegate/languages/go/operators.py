"""What the names in tests of Go mean: functions that are tests, fields that say what is expected, and assertions."""

import re
from typing import Final

from codegate.languages.mutation import Operator

TESTS: Final = re.compile(r"(Test|Fuzz|Example)([^a-z]|$)")
TESTERS: Final = re.compile(r"\*testing\.[TBF]|testing\.TB")
CHECKERS: Final = re.compile(r'"(github\.com/stretchr/testify/(assert|require|suite)|gotest\.tools/(v3/)?assert)"')
"""Imports of packages whose functions have the ``ASSERTIONS``."""
FAILURES: Final = frozenset({"Error", "Errorf", "Fatal", "Fatalf", "Fail", "FailNow"})
WANTED: Final = re.compile(r"(?i:want|expect|^exp|result|^output$|^valid|^err|err$)|^[iI]s[A-Z]")
"""Names of what a test expects."""
HELPERS: Final = re.compile(r"(?i)eq|assert|expect|want|check|same|require|must|verify|match|test")
"""Functions that are given what a test expects, where they are given what reports a failure too."""
COMPARING: Final = re.compile(r"Equal|Contains|Has|Match|Is$")
LOOKING: Final = re.compile(r"Contains|Has")
"""Questions about a part of something."""
CONVERSIONS: Final = re.compile(r"New|Errorf|string|bool|rune|byte|u?int(8|16|32|64)?|float(32|64)")
OUTPUT: Final = re.compile(r"(?i)//\s*(unordered )?output:")

_EQUAL: Final = Operator(expected=(0, 1), changed=1)
_LAST: Final = Operator(expected=(1, 0))
_OPPOSITE: Final = (
    "True False, NoError Error, Nil NotNil, Empty NotEmpty, Zero NotZero, Contains NotContains, Same NotSame, "
    "Panics NotPanics, Greater LessOrEqual, Less GreaterOrEqual, Regexp NotRegexp, ErrorIs NotErrorIs, "
    "FileExists NoFileExists"
)
_PLAIN: Final = {
    **{name: Operator(opposite=(other,)) for pair in _OPPOSITE.split(", ")
       for name, other in (pair.split(), reversed(pair.split()))},
    **dict.fromkeys(("Equal", "EqualValues", "Exactly"), _EQUAL),
    **dict.fromkeys(("Len", "EqualError", "InDelta", "JSONEq", "YAMLEq"), _LAST),
    **dict.fromkeys(("ErrorContains",), Operator(expected=(1,), part=True)),
    "Contains": Operator(expected=(1, 0), part=True, opposite=("NotContains",)),
}  # fmt: skip
ASSERTIONS: Final[dict[str, Operator]] = _PLAIN | {
    f"{name}f": Operator(one.expected, one.part, tuple(f"{other}f" for other in one.opposite), one.changed)
    for name, one in _PLAIN.items()
}
"""Of testify's functions and methods, behind what reports the failure."""
