from collections.abc import Iterator
from contextlib import AbstractContextManager

import pytest

from codegate.durable import sha256
from codegate.grading import Sandboxes
from codegate.mining.cut import Cut
from codegate.mining.proving.quality import MAX_HUNKS, hunk_coverage, measure_quality, without_each_hunk
from codegate.mining.proving.validation import Validated
from codegate.sandbox import EnvironmentRecipe, Sandbox
from codegate.sandbox.bubblewrap import BubblewrapBackend
from codegate.suite import EnvironmentManifest, ProblemLimits, Tree, TreeFile
from tests.mining.statement_world import validate_cut

GAP = "".join(f"# line {number}\n" for number in range(12))
OLD = f"def double(n):\n    return n\n\n{GAP}\ndef half(n):\n    return n\n\n{GAP}\ndef square(n):\n    return n\n"
NEW = OLD.replace("return n\n", "return 2 * n\n", 1)[::-1].replace("return n\n"[::-1], "return n * n\n"[::-1], 1)[::-1]
NEW = NEW.replace("def half(n):\n    return n\n", "def half(n):\n    return n // 2\n")
TESTS = """\
import calc

def test_double():
    assert calc.double(3) == 6

def test_square():
    assert calc.square(3) == 9
"""


def _cut(base: dict[str, str], fix: dict[str, str | None], tests: str = TESTS) -> Cut:
    tree = Tree({path: TreeFile(text.encode()) for path, text in base.items()})
    changes = {path: None if text is None else TreeFile(text.encode()) for path, text in fix.items()}
    hidden = {"test_calc.py": TreeFile(tests.encode())}
    return Cut(tree, hidden, changes, tree.overlay(changes).overlay(hidden), ("test_calc.py",), (), 1)


class TestHunks:
    def test_each_hunk_is_left_out_once(self) -> None:
        found = list(without_each_hunk(Tree({"calc.py": TreeFile(OLD.encode())}), {"calc.py": TreeFile(NEW.encode())}))
        texts = [file.data.decode() for changes in found for file in changes.values() if file is not None]
        wanted = [
            NEW.replace("return 2 * n", "return n"),
            NEW.replace("return n // 2", "return n"),
            NEW.replace("return n * n", "return n"),
        ]
        assert texts == wanted

    def test_new_and_deleted_files_are_hunks_and_a_fix_of_one_hunk_leaves_nothing(self) -> None:
        base = Tree({"old.py": TreeFile(b"x = 1\n"), "kept.py": TreeFile(b"y = 1\n")})
        added, gone = {"new.py": TreeFile(b"z = 1\n")}, {"old.py": None}
        assert list(without_each_hunk(base, added)) == [{}]
        assert list(without_each_hunk(base, {**added, **gone})) == [gone, added]

    def test_of_many_hunks_some_are_tried_from_begin_to_end(self) -> None:
        lines = [f"line {number}\n" for number in range(400)]
        new = [line.replace("line", "word") if number % 20 == 0 else line for number, line in enumerate(lines)]
        fix = {"a.txt": TreeFile("".join(new).encode())}
        found = list(without_each_hunk(Tree({"a.txt": TreeFile("".join(lines).encode())}), fix))
        assert len(found) == MAX_HUNKS
        missing = [
            number
            for changes in found
            for file in changes.values()
            for number, line in enumerate(file.data.decode().splitlines() if file else [])
            if number % 20 == 0 and line.startswith("line")
        ]
        assert missing == [0, 120, 260]

    def test_no_newline_at_the_end_is_kept(self) -> None:
        base = Tree({"a": TreeFile(f"one\n{GAP}two".encode())})
        found = list(without_each_hunk(base, {"a": TreeFile(f"ONE\n{GAP}TWO".encode())}))
        assert [file.data for changes in found for file in changes.values() if file] == [
            f"one\n{GAP}TWO".encode(),
            f"ONE\n{GAP}two".encode(),
        ]


@pytest.fixture(scope="module")
def sandboxes(bwrap_backend: BubblewrapBackend, recipe: EnvironmentRecipe) -> Iterator[Sandboxes]:
    found = Sandboxes(bwrap_backend, {"tests": recipe.lock})
    yield found
    found.close()


@pytest.mark.bwrap
class TestCoverage:
    def test_the_tests_see_so_much_of_the_fix(self, sandboxes: Sandboxes, recipe: EnvironmentRecipe) -> None:
        manifest = EnvironmentManifest(
            id="tests", python=recipe.python, lock="x.lock", lock_sha256=sha256(recipe.lock.encode()), rung="manual"
        )
        opened: list[ProblemLimits] = []

        def open_sandbox(limits: ProblemLimits) -> AbstractContextManager[Sandbox]:
            opened.append(limits)
            return sandboxes.open(manifest, limits)

        parts = _cut({"calc.py": OLD}, {"calc.py": NEW})
        validated = validate_cut(parts, open_sandbox)
        assert isinstance(validated, Validated)
        opened.clear()

        quality = measure_quality(parts, validated, open_sandbox, exact_texts=2, statement_words=30)

        assert (quality.hunk_coverage, quality.hunks) == (0.6667, 3)  # no test asks for half
        assert len(opened) == 3
        assert (quality.exact_texts, quality.statement_words, quality.command_clean) == (2, 30, True)
        assert quality.validation_seconds is not None

        torn = _cut({"calc.py": OLD}, {"calc.py": NEW.replace("    return n // 2\n", "    if n:\n").replace(
            "# line 11\n\ndef square", "# line 11\n        return n // 2\n\ndef square")})  # fmt: skip
        assert hunk_coverage(torn, validated.selection, validated.outcomes.fail_to_pass, open_sandbox)[1] == 3
        assert len(opened) < 6  # what no longer compiles is noticed without a run
