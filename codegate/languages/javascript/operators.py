"""What the names in tests of JavaScript mean: declarations, modifiers, and assertions with their operators."""

import re
from typing import Final

from codegate.languages.mutation import Operator

TESTS: Final = frozenset({"it", "test", "specify", "fit", "xit", "xtest"})
GROUPS: Final = frozenset({"describe", "suite", "context", "fdescribe", "xdescribe"})
#: What a declaration may be qualified with and still be one test that passes when its function does not throw.
MODIFIERS: Final = frozenset(
    {"only", "skip", "concurrent", "sequential", "serial", "parallel", "shuffle", "skipIf", "runIf"}
)
INVERTING: Final = frozenset({"fails", "expectFailure", "todo"})
#: How many parameters a test's function has, at least, if one of them says when it is over.
CALLED_BACK: Final = {"node": 2, "jest": 1, "mocha": 1}
#: Calls whose arguments name modules.
MODULES: Final = re.compile(
    r"(require|(do|un|dontM)?[mM]ock|unmock|deepUnmock|hoisted|(import|require)\w+|createMockFromModule|resolve|glob)"
)
#: What waits for a promise: its receipt comes later than the call ends.
WAITING: Final = re.compile(rb"\b(resolves|rejects|poll|eventually|doesNotReject)\b")
#: What is put in the place of a table's values in a title; the frameworks have each their own, and none means itself.
PLACEHOLDER: Final = re.compile(r"%(?:\.\d+)?[a-zA-Z#$%]|\$[\w.#]+|\$\{[^}]*\}")

#: Questions whose usual answer is yes, and those of them that are about a part of something.
ASKING: Final = frozenset(
    {"startsWith", "endsWith", "includes", "has", "test", "match", "deepEqual", "isDeepStrictEqual"}
)
LOOKING: Final = frozenset({"includes", "has", "test", "match"})
#: Classes that no error is of beside another one.
ERRORS: Final = ("EvalError", "URIError")


def _named(names: str, operator: Operator) -> dict[str, Operator]:
    return dict.fromkeys(names.split(), operator)


_MIRRORED: Final = {
    "toBeTruthy": "toBeFalsy",
    "toBeFalsy": "toBeTruthy",
    "toBeDefined": "toBeUndefined toBeNull",
    "toBeUndefined": "toBeDefined toBeNull",
    "toBeNull": "toBeDefined toBeUndefined",
    "toBeGreaterThan": "toBeLessThan toBeLessThanOrEqual",
    "toBeLessThan": "toBeGreaterThan toBeGreaterThanOrEqual",
    "toBeGreaterThanOrEqual": "toBeLessThan",
    "toBeLessThanOrEqual": "toBeGreaterThan",
    "true": "false",
    "false": "true",
}
MATCHERS: Final[dict[str, Operator]] = {
    **_named(
        "toBe toEqual toStrictEqual toMatchObject toBeCloseTo toHaveLength toHaveBeenCalledTimes toBeCalledTimes "
        "toHaveBeenCalledWith toHaveBeenLastCalledWith lastCalledWith toBeCalledWith toHaveReturnedWith "
        "toHaveReturnedTimes equal equals eq eql eqls lengthOf length status toHaveTextContent "
        "toHaveBeenCalledExactlyOnceWith",
        Operator(expected=(0,), changed=0),
    ),
    **_named(
        "toHaveProperty property toHaveBeenNthCalledWith nthCalledWith toHaveAttribute",
        Operator(expected=(1,), changed=1),
    ),
    **_named("toThrow toThrowError throw throws", Operator(expected=(0,), part=True, weak=True)),
    **_named("toContain toMatch contain contains include includes string match", Operator(expected=(0,), part=True)),
    **{name: Operator(opposite=tuple(others.split())) for name, others in _MIRRORED.items()},
}
"""Of what stands behind ``expect(...)`` and ``.should``; others hold with ``.not`` when they do not."""

_OPPOSITE: Final = (
    "isTrue isFalse, isOk isNotOk, isNull isNotNull, isUndefined isDefined, exists notExists, include notInclude, "
    "instanceOf notInstanceOf, property notProperty, isArray isNotArray, isObject isNotObject, isString isNotString, "
    "isFunction isNotFunction, isEmpty isNotEmpty, isAbove isAtMost, isBelow isAtLeast, equal notEqual, "
    "strictEqual notStrictEqual, deepEqual notDeepEqual, deepStrictEqual notDeepStrictEqual, "
)
_RAISING: Final = "throws doesNotThrow, rejects doesNotReject"
_EQUAL: Final = Operator(expected=(1, 0), changed=1)
ASSERTIONS: Final[dict[str, Operator]] = {
    name: Operator(opposite=(other,), weak=pairs == _RAISING)
    for pairs in (_OPPOSITE, _RAISING)
    for pair in pairs.split(", ")
    if pair
    for name, other in (pair.split(), reversed(pair.split()))
} | {
    **{f"{how}{name}": _EQUAL for how in ("loose", "strict", "deep", "deepStrict", "partialDeepStrict")
       for name in ("Equal", "Equals")},
    **_named(
        "equal equals eql same is lengthOf sameMembers sameDeepMembers assertEqual assertEquals assertStrictEqual "
        "assertStrictEquals assertDeepEqual assertDeepEquals", _EQUAL,
    ),
}  # fmt: skip
"""Of functions that assert something, by the last part of their names."""
