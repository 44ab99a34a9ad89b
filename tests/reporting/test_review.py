"""The review page: complete, and nothing of a problem ever becomes markup."""

import re
from dataclasses import replace
from datetime import UTC, date, datetime
from pathlib import Path

import pytest

from codegate.operations.editing import review_suite
from codegate.reporting import render_review, review_view, reviewed_problem
from codegate.reporting.review import MAX_LINES, ReviewedProblem
from codegate.suite import Provenance, Quality, Quarantine, Tree, TreeFile
from tests.reporting.hostile import PAYLOADS
from tests.reporting.test_html import CHROMIUM, Page, browse, inactive, shape
from tests.suite.builders import TESTS, problem, suite

BASE = Tree({
    "src/add.py": TreeFile(b"def add(a, b):\n    return a - b\n"),
    "src/gone.py": TreeFile(b"x = 1\n"),
    "tests/test_old.py": TreeFile(b"def test_old(): pass\n"),
})  # fmt: skip
COMMAND = "codegate review 'my suite'"


def written(text: str) -> TreeFile:
    return TreeFile(text.encode("utf-8", "replace"))


def shown(name: str = "p-1", words: str = "") -> ReviewedProblem:
    """A problem with ``words`` in every text that it has."""
    entry = problem(
        name,
        statement=f"# Adding\n\n`add` subtracts. {words}\n",
        tests=TESTS.model_copy(update={"FAIL_TO_PASS": (f"tests/test_add.py::test_add[{words}]",)}),
        hidden={"tests/test_add.py": written(f"def test_add(): add(1, 1) == 2  # {words}\n")},
        fix={"src/add.py": written(f"def add(a, b):\n    return a + b  # {words}\n")},
        provenance=Provenance(
            kind="squash", commit="b" * 40, pull_request=12, issues=(7,), title=f"Fix add {words}",
            date=datetime(2025, 3, 4, tzinfo=UTC), evidence=(f"title: {words}",),
        ),
        kind="bugfix", kind_evidence=(f"label: {words}",), quality=Quality(exact_texts=2),
        status="quarantined", quarantine=Quarantine(reason="flaky", evidence=f"once {words}", expires=date(2031, 1, 1)),
    )  # fmt: skip
    told = {"sources": ("changelog", "probe"), "dropped": (f"commit: shows {words}",)}
    statement = entry.manifest.statement.model_copy(update=told)
    manifest = entry.manifest.model_copy(update={"statement": statement})
    return reviewed_problem(replace(entry, manifest=manifest), BASE)


def page_of(tmp_path: Path, *problems: ReviewedProblem, command: str = COMMAND) -> str:
    return render_review(review_view(suite(tmp_path / "s"), command, problems))


def test_every_problem_is_there_with_all_that_a_decision_needs(tmp_path: Path) -> None:
    text = page_of(tmp_path, *(shown(f"p-{number}", f"w{number}") for number in range(4)))
    page = Page(text)
    boxes = [dict(attributes) for tag, attributes in page.elements if tag == "input"]
    assert [box["data-id"] for box in boxes] == [f"p-{number}" for number in range(4)]
    assert not any("checked" in box for box in boxes)
    for words in (
        ">Fix add w3<", ">p-3</code>", ">bbbbbbbbbbbb (squash, #12)<", ">2025-03-04<", ">#7<", ">bugfix<",
        ">handwritten<", ">2 texts must be given word for word<", "# Adding\n\n`add` subtracts. w3</pre>",
        ">tests/test_add.py::test_add[w3]<", ">-    return a - b\n<", ">+    return a + b  # w3\n<",
        ">+def test_add(): add(1, 1) == 2  # w3\n<", ">quarantined: flaky: once w3<", ">label: w3<",
        ">changelog, probe<", ">commit: shows w3<", ">title: w3<",
    ):  # fmt: skip
        assert words in text
    assert "index " not in text, "object names say nothing to people"


def test_the_decisions_of_the_suite_are_shown(tmp_path: Path) -> None:
    aside = Quarantine(reason="oracle_fails", evidence="the fix fails", expires=date(2031, 1, 1))
    written = suite(
        tmp_path / "s", problem("kept"), problem("dropped"), problem("gone", status="retired", quarantine=aside)
    )
    reviewed = review_suite(written, drop=["dropped"])
    text = render_review(review_view(reviewed, COMMAND, tuple(reviewed_problem(p, BASE) for p in reviewed.problems)))
    boxes = [dict(attributes) for tag, attributes in Page(text).elements if tag == "input"]
    assert [(box["data-id"], "checked" in box, "data-dropped" in box) for box in boxes] == [
        ("kept", False, False),
        ("dropped", True, True),
    ]
    assert "retired: oracle_fails: the fix fails" in text


def test_data_never_becomes_markup(tmp_path: Path) -> None:
    problems = [shown(f"p-{number}", payload) for number, payload in enumerate(PAYLOADS.values())]
    page = Page(page_of(tmp_path, *problems, command=f"codegate review '{' '.join(PAYLOADS.values())}'"))
    assert shape(page) == shape(Page(page_of(tmp_path, *[shown(words="x")] * len(problems))))
    inactive(page)


def test_long_and_binary_changes_are_shortened() -> None:
    lines = "".join(f"x = {n}\n" for n in range(MAX_LINES + 100)).encode()
    entry = problem(fix={"src/long.py": TreeFile(lines)}, hidden={
        "tests/data.bin": TreeFile(bytes(range(256)) * 4), "tests/test_add.py": TreeFile(b"def test_add(): pass\n"),
    })  # fmt: skip
    found = reviewed_problem(entry, BASE)
    assert len(found.fix.text.split("\n")) == MAX_LINES
    assert found.fix.omitted == 105, "five lines of headers"
    assert "binary file\ndiff --git a/tests/test_add.py" in found.hidden.text
    assert "literal" not in found.hidden.text


@pytest.mark.sandbox
@pytest.mark.skipif(CHROMIUM is None, reason="no Chromium on this machine")
def test_a_browser_runs_the_pages_script_and_nothing_else(tmp_path: Path) -> None:
    hostile = "".join(payload for payload in PAYLOADS.values() if "pwned" in payload)
    (tmp_path / "review.html").write_text(page_of(tmp_path, shown("p-1", hostile), shown("p-2")), encoding="utf-8")
    done = browse(tmp_path / "review.html")
    assert "<title>codegate review: demo</title>" in done.stdout
    assert "2 kept, 0 dropped</p>" in done.stdout
    assert re.search(r'<article class="problem is-keep current"', done.stdout)
    assert "Content Security Policy" not in done.stderr
