"""The search of test files: what is found in their texts, and that no text keeps it busy."""

import json
import os
import signal
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from codegate.languages import searching
from codegate.languages.controls import EditableTest
from codegate.languages.searching import SearchError, SearchUnavailable, find, search_tests
from codegate.suite import RunnerName

JAVASCRIPT = "it('adds', () => { expect(f(1)).toBe(2) })\n"


def test_an_error_costs_the_test_that_has_it_and_no_other() -> None:
    text = "def test_a():\n    assert f(1) == 2\n\ndef test_b():\n    assert f(1) == )\n"
    assert [record["name"] for record in find("test_a.py", text, "pytest")] == ["test_a"]


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ("a.test.js", "it('a', () => { " + "[" * 100_000),
        ("a_test.go", "package a\nfunc TestX(t *testing.T) { " + "if " * 50_000),
        ("test_a.py", "def test_a():\n    assert f(1) == " + "(" * 50_000 + "2\n"),
        ("a.txt", "it('a', () => { expect(1).toBe(2) })"),
    ],
)
def test_a_text_that_is_too_deep_or_too_broken_has_nothing(path: str, text: str) -> None:
    runner: RunnerName = "go" if path.endswith(".go") else "pytest" if path.endswith(".py") else "node"
    assert search_tests({path: text}, runner) == b""


def test_what_is_too_deep_in_a_text_is_left_alone() -> None:
    text = "def test_a():\n    assert f(1) == " + "(" * 50_000 + "2" + ")" * 50_000 + "\n"
    (unit,) = map(json.loads, search_tests({"test_a.py": text}, "pytest").splitlines())
    assert {text[site["start"] : site["end"]] for site in unit["sites"] if site["value"]} == {"1"}


TEXT = "def test_a():\n    assert f(1, 'one') == 2\n"
TRUTH = "def test_a():\n    assert f(1) is False\n" + "    assert f(3) == 7\n" * 500


@pytest.mark.parametrize(
    ("text", "older", "new"),
    [
        (TEXT, "def test_a():\n    assert f(1, 'one') == 3\n", {"2"}),
        (TEXT, "def test_b():\n    f(1)\n\ndef test_c():\n    g(7)\n    assert f(1, 'one') == 3\n", {"2"}),  # renamed
        (TEXT, "def test_a():\n    assert g(1) == 2\n", {"'one'"}),
        (TEXT, "def test_a():\n    f('one', 7)\n    assert f(1, 4) == 3\n", {"2"}),  # moved
        (TEXT, TEXT, set()),
        (TEXT, "", {"1", "'one'", "2"}),
        (TRUTH, "def test_a():\n    assert f(1) is True\n", {"3", "7"}),  # by the only other one
        (TRUTH, "def test_a():\n" + "    assert g(8, 3) is True\n" * 500, {"1", "7"}),
    ],
)
def test_literals_that_an_older_version_of_a_test_tells_are_not_strong(text: str, older: str, new: set[str]) -> None:
    def strong(file: str) -> set[str]:
        (unit,) = search_tests({"test_a.py": text}, "pytest", {file: older}).splitlines()
        sites = EditableTest.model_validate_json(unit).sites
        return {text[site.start : site.end] for site in sites if site.strong}

    assert strong("test_a.py") == new
    assert strong("test_b.py") > new or not older


def test_a_search_with_older_versions_has_an_end() -> None:
    """Tables of which every row has changed, and names of which each has."""
    rows = "".join(f"    ({row}, {row + 7}),\n" for row in range(200))
    table = f"@pytest.mark.parametrize('a, b', [\n{rows}])\ndef test_NAME(a, b):\n    assert f(a) == b\n\n"
    text = "".join(table.replace("NAME", f"table{number}") for number in range(3))
    text += "".join(f"def test_{number}():\n    assert f({number}) == 2\n\n" for number in range(400))
    older = text.replace("(1", "(2").replace("def test_", "def test_old_")
    assert search_tests({"test_a.py": text}, "pytest", {"test_a.py": older}, cpu_seconds=8)
    assert search_tests({"test_a.py": "def test_a(): assert f(1)\n"}, "pytest", {"test_a.py": "#" * (1 << 21)})


def test_a_number_of_thousands_of_digits_costs_its_own_file_at_most() -> None:
    odd = f"def test_a():\n    assert f() == 0x{'f' * 4000}\n\n\ndef test_b():\n    assert f() == 1e308\n"
    plain = "def test_c():\n    assert f() == 7\n"
    found = search_tests({"test_odd.py": odd, "test_plain.py": plain}, "pytest").splitlines()
    assert {json.loads(line)["name"] for line in found} == {"test_a", "test_b", "test_c"}


def test_a_text_that_is_too_large_ends_the_search() -> None:
    with pytest.raises(SearchError, match="more than 1 MiB"):
        search_tests({"a.test.js": "//" + " " * (1 << 20)}, "node")


def test_a_text_that_takes_too_long_ends_the_search() -> None:
    text = "it('a', () => { expect(a)" + ".b()" * 20_000 + " })"
    with pytest.raises(SearchError):
        search_tests({"a.test.js": text, "b.test.js": JAVASCRIPT}, "node", cpu_seconds=1)
    (record, *_) = map(json.loads, search_tests({"b.test.js": JAVASCRIPT}, "node").splitlines())
    assert record["file"] == "b.test.js"


@pytest.fixture
def serve(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[str], None]]:
    """Have a server of its own run lines ahead of its searches."""
    server = searching._Server()
    monkeypatch.setattr(searching, "_SERVER", server)
    yield lambda lines: monkeypatch.setattr(searching, "_PROGRAM", f"{lines}\n{searching._PROGRAM}")
    if server._control is not None and server._process is not None:
        server._control.close()
        server._process.wait()


FORKING_AT_LAST = """\
import os
fork, fails = os.fork, [1, 2]
def failing():
    if fails and fails.pop():
        raise BlockingIOError(11, "Resource temporarily unavailable")
    return fork()
os.fork = failing
"""


def test_a_server_that_cannot_fork_says_so_and_goes_on(serve: Callable[[str], None]) -> None:
    serve(FORKING_AT_LAST)
    large = {"a.test.js": JAVASCRIPT + "//" + " " * 900_000}
    for text in (large, {"b.test.js": JAVASCRIPT}):
        with pytest.raises(SearchUnavailable, match="Resource temporarily unavailable"):
            search_tests(text, "node")
    assert search_tests({"b.test.js": JAVASCRIPT}, "node")


@pytest.mark.parametrize(
    ("lines", "words"),
    [("import absent", "No module named 'absent'$"), ("import os; os.abort()", "Connection reset|no answer")],
)
def test_a_server_that_does_not_start_is_no_fault_of_the_text(
    lines: str, words: str, serve: Callable[[str], None]
) -> None:
    serve(lines)
    for _ in range(2):
        with pytest.raises(SearchUnavailable, match=words):
            search_tests({"b.test.js": JAVASCRIPT}, "node")


def test_words_of_a_search_are_none_of_the_server(serve: Callable[[str], None]) -> None:
    printing = "import sys; from codegate.languages import searching"
    serve(f"{printing}; searching.find = lambda *_: sys.stderr.write('x' * 9000) and []")
    assert search_tests({"b.test.js": JAVASCRIPT}, "node") == b""
    assert searching._SERVER.error_output() == b""


def test_a_search_that_crashes_is_ended_by_its_text(serve: Callable[[str], None]) -> None:
    serve("import os; from codegate.languages import searching; searching.find = lambda *_: os.abort()")
    with pytest.raises(SearchError, match="did not come to its end"):
        search_tests({"b.test.js": JAVASCRIPT}, "node")


def _servers() -> list[Path]:
    """The processes of this one that serve searches."""
    of_threads = Path("/proc/self/task").glob("*/children")
    processes = [Path("/proc", number) for file in of_threads for number in file.read_text().split()]
    return [process for process in processes if b"import serve" in (process / "cmdline").read_bytes()]


def test_searches_share_a_server_that_has_no_variable_of_this_process(monkeypatch: pytest.MonkeyPatch) -> None:
    for process in _servers():
        os.kill(int(process.name), signal.SIGKILL)
        os.waitpid(int(process.name), 0)
    monkeypatch.setenv("OPENAI_API_KEY", "sk-secret")
    texts = [{f"{number}.test.js": JAVASCRIPT} for number in range(8)]
    with ThreadPoolExecutor(4) as threads:
        found = list(threads.map(lambda text: search_tests(text, "node"), texts))
    assert [json.loads(one)["file"] for one in found] == [path for text in texts for path in text]
    (server,) = _servers()
    assert (server / "environ").read_bytes().startswith(b"PYTHONPATH=")
    assert b"sk-secret" not in (server / "environ").read_bytes()
