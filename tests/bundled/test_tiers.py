"""The suite ``tiers``: its five tiers at each change, and by night that wrong solutions fail."""

from collections import Counter
from pathlib import Path
from typing import Final

import pytest

from codegate.grading import FailureClass, Sandboxes, grade
from codegate.running.plan import tags_of
from codegate.sandbox.bubblewrap import BubblewrapBackend
from codegate.suite import Suite, TreeFile, load_base, load_suite, make_patch

FOLDER: Final = Path(__file__).parents[2] / "suites" / "tiers"
LANGUAGES: Final = {"python", "typescript", "javascript", "css", "go", "sql", "shell"}
WRONG: Final[tuple[tuple[str, str, FailureClass, str, str], ...]] = (
    ("slug", "slug.py", "logic_error", "whole[: longest + 1]", "whole[:longest]"),
    ("leaderboard", "leaderboard.sql", "edge_case_error", "SELECT RANK()", "SELECT DENSE_RANK()"),
    ("page-window", "page-window.ts", "logic_error", "page === last + 2", "page === last + 3"),
    ("expense-totals", "totals.sh", "edge_case_error", "sum[tolower(trim($2))]", "sum[trim($2)]"),
    (
        "shortener",
        "shortener/store.py",
        "temporal_reasoning_error",
        'now < found["expires"]',
        'now <= found["expires"]',
    ),
    ("notes-sync", "notes/page.py", "edge_case_error", "{escape(title)}</li>", "{title}</li>"),
    ("build-plan", "planner/schedule.py", "logic_error", "+ max((way[user] for user in users[name]), default=0)", ""),
    ("tool-chain", "chain/runner.py", "logic_error", "in reversed(done)", "in done"),
    ("order-states", "order.go", "logic_error", "at >= end", "at > end"),
    ("card-grid", "cards.css", "logic_error", "(min-width: 1000px)", "(min-width: 1001px)"),
    (
        "theme-tokens",
        "theme.css",
        "logic_error",
        "  --on-accent: #ffffff;\n  --danger: #7d120c;",
        "  --danger: #7d120c;",
    ),
    ("tabs", "tabs.js", "logic_error", "event.ctrlKey || ", ""),
    ("payment-keys", "payments.py", "edge_case_error", "sort_keys=True", "sort_keys=False"),
    ("webhook-signatures", "webhooks.py", "temporal_reasoning_error", "key[0] < oldest", "key[0] <= oldest"),
    ("feature-flags", "flags.py", "edge_case_error", "isinstance(one, bool) == isinstance(other, bool) and ", ""),
    ("cursor-pages", "pages.py", "edge_case_error", "if of != author:", "if False:"),
    (
        "proration",
        "proration.py",
        "edge_case_error",
        "round(sum(exact, Fraction(0)))",
        "int(sum(exact) + Fraction(1, 2))",
    ),
    ("permissions", "policy.py", "temporal_reasoning_error", 'now < binding["until"]', 'now <= binding["until"]'),
    ("reservations", "stock.py", "temporal_reasoning_error", "ends <= ?", "ends < ?"),
    ("search-query", "search/parsing.py", "edge_case_error", r"""r'OR(?=[\s()"]|$)'""", "r'OR'"),
    (
        "job-queue",
        "jobs.py",
        "performance_error",
        "next_jobs ON jobs (name, state, priority DESC, ",
        "next_jobs ON jobs (",
    ),
    ("form-schema", "form-schema.ts", "logic_error", "[...text].length", "text.length"),
    ("undo-history", "undo-history.ts", "logic_error", "at >= before && ", ""),
    ("route-table", "routes.js", "logic_error", "if (methods.has('GET')) methods.add('HEAD');", ""),
    ("load-cache", "cache.go", "logic_error", "begun.forgotten = true", "begun.forgotten = false"),
    ("contact-import", "contacts.go", "logic_error", 'strings.ToLower(field("email"))', 'field("email")'),
    ("backup-rotation", "rotate.sh", "logic_error", "keep = marked || !count[name]", "keep = marked"),
)
"""Of each problem a wrong solution, the fix with one text of a file replaced, and its failure class."""


@pytest.fixture(scope="module")
def suite() -> Suite:
    return load_suite(FOLDER)


@pytest.mark.requirement("D9")
def test_there_are_five_tiers(suite: Suite) -> None:
    tiers = Counter(problem.manifest.tags["tier"] for problem in suite.problems)
    assert tiers.keys() == {"1", "2", "3", "4", "5"}
    assert tiers["5"] == 15
    battle = [problem for problem in suite.problems if problem.manifest.tags["tier"] == "5"]
    assert sum(len(problem.tests.expected) for problem in battle) >= 250
    cohorts = {tag for problem in suite.problems for tag in tags_of(problem.manifest)}
    assert {tag.removeprefix("language:") for tag in cohorts if tag.startswith("language:")} == LANGUAGES


def test_a_single_file_is_easy_and_several_are_hard(suite: Suite) -> None:
    for problem in suite.problems:
        files = len(problem.fix)
        assert files == 1 if problem.manifest.tags["tier"] in {"1", "4"} else files >= 1, problem.id
        assert files >= 3 or problem.manifest.tags["tier"] != "2", problem.id


def wrong_source(suite: Suite, problem: str, path: str, old: str, new: str) -> str:
    (found,) = (each for each in suite.problems if each.id == problem)
    file = found.fix[path]
    assert file is not None
    text = file.data.decode()
    assert text.count(old) == 1, (problem, old)
    return text.replace(old, new)


def test_each_problem_has_a_wrong_solution(suite: Suite) -> None:
    for problem, path, _, old, new in WRONG:
        wrong_source(suite, problem, path, old, new)
    assert [problem for problem, *_ in WRONG] == [problem.id for problem in suite.problems]


@pytest.mark.full
@pytest.mark.bwrap
@pytest.mark.timeout(1800)
@pytest.mark.requirement("D9")
def test_wrong_solutions_fail(suite: Suite, bwrap_backend: BubblewrapBackend) -> None:
    sandboxes = Sandboxes(bwrap_backend, {})
    for entry in suite.manifest.environments:
        sandboxes.add(suite.environments[entry.id])
    problems = {problem.id: problem for problem in suite.problems}
    found = []
    for name, path, _, old, new in WRONG:
        problem = problems[name]
        base = load_base(suite, problem, FOLDER)
        fix = {**problem.fix, path: TreeFile(wrong_source(suite, name, path, old, new).encode())}
        found.append((name, grade(problem, base, make_patch(base, fix), sandboxes).failure))
    sandboxes.close()
    assert found == [(name, failure) for name, _, failure, _, _ in WRONG]
