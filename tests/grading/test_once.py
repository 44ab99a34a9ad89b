"""What is worked out once."""

import threading
import time
from concurrent.futures import ThreadPoolExecutor

import pytest

from codegate.grading.sandboxes import SharedCache


def test_a_failure_is_told_to_those_who_wait_and_not_kept() -> None:
    once, begun, tries = SharedCache[str, int](), threading.Barrier(2), list[int]()

    def fail() -> int:
        tries.append(1)
        begun.wait()
        time.sleep(0.1)
        raise KeyError("a")

    def wait() -> int:
        begun.wait()
        return once.get("a", lambda: 0)

    with ThreadPoolExecutor(2) as pool:
        both = [pool.submit(once.get, "a", fail), pool.submit(wait)]
    assert [type(one.exception()) for one in both] == [KeyError, KeyError]
    assert once.get("a", lambda: 7) == 7
    assert tries == [1]


@pytest.mark.parametrize(("asked", "made"), [("abab", "ab"), ("abca", "abca"), ("abacab", "abcb")])
def test_the_ones_that_were_asked_for_last_are_kept(asked: str, made: str) -> None:
    once, found = SharedCache[str, None](most=2), list[str]()
    for key in asked:
        once.get(key, lambda key=key: found.append(key))  # type: ignore[misc]
    assert "".join(found) == made
