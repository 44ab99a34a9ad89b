"""What a failing run's output ends with."""

import pytest

from codegate.grading.stderr import stderr_class


@pytest.mark.requirement("G6")
@pytest.mark.parametrize(
    ("output", "found"),
    [
        ("", "none"),
        (" \n\n", "none"),
        ("1 failed in 0.2s", "other"),
        ("E       assert 41 == 42\nFAILED tests/test_a.py::test_b", "assertion"),
        ("AssertionError [ERR_ASSERTION]: Expected values to be strictly equal", "assertion"),
        ("--- FAIL: TestDouble (0.00s)\nFAIL\tcalc\t0.002s", "assertion"),
        ("org.opentest4j.AssertionFailedError: expected: <1>", "assertion"),
        ("ModuleNotFoundError: No module named 'x'", "import"),
        ("Error: Cannot find module './x'", "import"),
        ("a.go:3:8: package nope is not in std", "import"),
        ("  File 'a.py', line 1\nSyntaxError: invalid syntax", "syntax"),
        ("./a.go:4:1: syntax error: unexpected }\nFAIL\tcalc [build failed]", "syntax"),
        ("A.java:3: error: ';' expected", "syntax"),
        ("FATAL ERROR: Reached heap limit Allocation failed - JavaScript heap out of memory", "memory"),
        ("Error: EACCES: permission denied, open '/etc/shadow'", "permission"),
        ("PermissionError: [Errno 13] Permission denied: '/etc/shadow'", "permission"),
        ("Error: connect ENETUNREACH 192.0.2.1:80", "network"),
        ("dial tcp: lookup example.org: no such host", "network"),
        ("TimeoutError: it took too long", "timeout"),
        ("Traceback (most recent call last):\n  x\nKeyError: 'a'", "exception"),
        ("panic: runtime error: index out of range", "exception"),
        ("AssertionError: a\nKeyError: 'b'\n1 failed", "exception"),
    ],
)
def test_the_last_line_that_says_something_counts(output: str, found: str) -> None:
    assert stderr_class(output) == found


def test_limits_come_before_words() -> None:
    assert stderr_class("AssertionError", timed_out=True) == "timeout"
    assert stderr_class("AssertionError", timed_out=True, memory_exceeded=True) == "memory"


def test_a_long_line_is_read_in_part() -> None:
    assert stderr_class("x" * 10_000_000 + " AssertionError") == "other"
