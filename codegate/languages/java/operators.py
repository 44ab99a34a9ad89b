"""What the names in tests of Java mean: JUnit's assertions, AssertJ's, and Hamcrest's matchers."""

from typing import Final

from codegate.languages.mutation import Operator

TESTS: Final = frozenset({"Test", "ParameterizedTest", "RepeatedTest", "TestTemplate"})
"""Annotations of test methods."""
OLD: Final = ("org.junit.Assert", "junit.framework")
"""Imports of the assertions of JUnit 3 and 4, whose messages come first."""
MAKING: Final = frozenset({"asList", "of", "valueOf", "singletonList", "singleton", "entry", "parse", "create"})
"""Methods that make a value of the literals that they are given."""
NOTHING: Final = "java.util.zip.DataFormatException.class"
"""An exception that few programs throw."""

_EQUAL: Final = Operator(expected=(0, 1), opposite=("assertNotEquals",))
_FIRST: Final = Operator(expected=(0,))
_PART: Final = Operator(expected=(0,), part=True)
_ALL: Final = Operator(expected=(0, 1, 2, 3))

JUNIT: Final = {
    "assertEquals": _EQUAL,
    **dict.fromkeys(("assertArrayEquals", "assertIterableEquals", "assertLinesMatch"), Operator(expected=(0, 1))),
    "assertSame": Operator(opposite=("assertNotSame",)),
    "assertNotSame": Operator(opposite=("assertSame",)),
    "assertNotEquals": Operator(opposite=("assertEquals",)),
    "assertNull": Operator(opposite=("assertNotNull",)),
    "assertNotNull": Operator(opposite=("assertNull",)),
    "assertTrue": Operator(opposite=("assertFalse",)),
    "assertFalse": Operator(opposite=("assertTrue",)),
}
"""Functions of JUnit."""
_OPPOSITE: Final = (
    "isTrue isFalse, isNull isNotNull, isEmpty isNotEmpty, isEqualTo isNotEqualTo, isSameAs isNotSameAs, "
    "contains doesNotContain, isPresent isNotPresent, isGreaterThan isLessThanOrEqualTo, "
    "isLessThan isGreaterThanOrEqualTo, isPositive isNotPositive, isInstanceOf isNotInstanceOf"
)
_FLUENT: Final = {
    "isEqualTo": _FIRST, "hasSize": _FIRST, "isEqualByComparingTo": _FIRST, "hasToString": _FIRST,
    "hasMessage": _FIRST, "containsEntry": Operator(expected=(1, 0)),
    **dict.fromkeys(("contains", "startsWith", "endsWith", "hasMessageContaining", "containsOnlyOnce"), _PART),
    **dict.fromkeys(("containsExactly", "containsOnly", "containsExactlyInAnyOrder"), _ALL),
}  # fmt: skip
_PAIRS: Final = [pair.split() for pair in _OPPOSITE.split(", ")]
_TURNED: Final = {name: other for pair in _PAIRS for name, other in (pair, reversed(pair))}
FLUENT: Final = {
    name: Operator(
        (known := _FLUENT.get(name, Operator())).expected, known.part, (_TURNED[name],) if name in _TURNED else ()
    )
    for name in (*_FLUENT, *_TURNED)
}
"""Methods of what ``assertThat`` of AssertJ or Truth gives."""
MATCHERS: Final = {
    **dict.fromkeys(("is", "equalTo", "hasSize", "comparesEqualTo", "equalToIgnoringCase"), _FIRST),
    **dict.fromkeys(("containsString", "startsWith", "endsWith", "hasItem"), _PART),
    **dict.fromkeys(("contains", "hasItems", "containsInAnyOrder", "arrayContaining"), _ALL),
}
"""Functions of Hamcrest."""
