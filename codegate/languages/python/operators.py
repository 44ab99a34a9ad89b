"""What the names in tests of Python mean: assertions with what holds where they do not, and contexts."""

import re
from typing import Final

#: Context managers that are passed by an exception or a warning inside of them.
EXPECTING: Final = re.compile(r"(raises|warns|assertRaises|assertRaisesRegex|assertWarns|assertWarnsRegex)")
#: Context managers that let every exception of their block out.
OPEN: Final = re.compile(
    r"(open|fdopen|urlopen|closing|nullcontext|localcontext|chdir|redirect_stdout|redirect_stderr|patch|object|dict|"
    r"multiple|subTest|catch_warnings|deprecated_call|assertLogs|assertNoLogs|assertNumQueries|CaptureQueriesContext|"
    r"override_settings|modify_settings|freeze_time|travel|context|app_context|test_client|test_request_context|"
    r"isolated_filesystem|Lock|RLock|ZipFile|TarFile|\w*TemporaryFile|TemporaryDirectory|\w+PoolExecutor)"
)
#: Functions that make a value of the literals that they are given, beside those that are built in.
MAKING: Final = frozenset({"approx", "array", "dedent", "dict_", "mark_safe", "u", "b"})
MADE_OF_ALL: Final = frozenset({"date", "datetime", "time", "timedelta"})

#: Methods of unittest and of mocks with the one that holds exactly when it does not.
OPPOSITE: Final = {
    "assertTrue": "assertFalse", "assertFalse": "assertTrue", "assertIn": "assertNotIn", "assertNotIn": "assertIn",
    "assertIs": "assertIsNot", "assertIsNot": "assertIs", "assertIsNone": "assertIsNotNone",
    "assertIsNotNone": "assertIsNone", "assertGreater": "assertLessEqual", "assertLessEqual": "assertGreater",
    "assertLess": "assertGreaterEqual", "assertGreaterEqual": "assertLess", "assertNotEqual": "assertEqual",
    "assertIsInstance": "assertNotIsInstance", "assertNotIsInstance": "assertIsInstance",
    "assertRegex": "assertNotRegex", "assertNotRegex": "assertRegex",
    "assert_called": "assert_not_called", "assert_called_once": "assert_not_called",
    "assert_not_called": "assert_called",
}  # fmt: skip
#: Operators with those that do not hold where they do.
COMPARISONS: Final = {
    "!=": ("==",), "==": ("!=",), "<": (">=", ">"), ">=": ("<",), ">": ("<=", "<"), "<=": (">",), "in": ("not in",),
    "not in": ("in",), "is": ("is not",), "is not": ("is",),
}  # fmt: skip
#: Few ask whether things are equal that differ in what they are given.
SELDOM: Final = frozenset({"in", "not in", "!="})
#: How empty containers are written, and what has something in it.
EMPTY: Final = {"[]": ("[0]", "['']"), "()": ("(0,)", "('',)"), "{}": ("{0: 0}", "{'': ''}")}
EQUAL: Final = re.compile(r"equal|same|close|assertCountEqual|_with$|_calls$", re.IGNORECASE)
UNEQUAL: Final = re.compile(r"not|un(?=equal)", re.IGNORECASE)
#: Classes that no exception or warning is of beside another one.
ERRORS: Final = ("ArithmeticError", "EOFError", "BufferError", "OSError", "RuntimeError", "ReferenceError")
WARNINGS: Final = ("ImportWarning", "SyntaxWarning", "BytesWarning", "UnicodeWarning", "ResourceWarning")
#: Classes of which no value is of two.
APART: Final = ("int", "float", "str", "bytes", "list", "dict", "tuple", "set")
#: Contexts that wait for no exception.
OPEN_CONTEXTS: Final = ("open(__file__)", "memoryview(b'')")
#: Questions whose usual answer is yes: what they ask for is changed, since "not" alone reveals what stood there.
ASKING: Final = frozenset(
    {"startswith", "endswith", "isclose", "search", "match", "fullmatch", "assertIn", "assertRegex"}
)
#: Those of them that are about a part of something: there may be more in it than a test looks for.
LOOKING: Final = frozenset({"search", "match", "assertIn", "assertRegex"})

#: What compares within a tolerance, and the names of its arguments.
TOLERANT: Final = re.compile(r"approx|almost|close", re.IGNORECASE)
ABSOLUTE: Final = ("abs", "delta", "abs_tol", "atol")
RELATIVE: Final = ("rel", "rel_tol", "rtol")
