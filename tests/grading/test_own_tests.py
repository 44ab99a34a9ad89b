"""What an answer's own tests show, with its fix and without it."""

import pytest

from codegate.grading import run_own_tests
from codegate.grading.grade import OwnTests
from codegate.suite import PatchError, make_patch
from tests.grading.conftest import MakeWorld
from tests.grading.worlds import FIX, SOURCE, TESTS, Files, World
from tests.kit.problem import changes

pytestmark = pytest.mark.sandbox


@pytest.fixture
def world(unboxed_world: World) -> World:
    return unboxed_world


PROOF = "from shop.price import total\n\ndef test_first():\n    assert total([4, 1]) == 5\n"
KNOWN = "def test_nothing():\n    assert total([]) == 0\n"


def own(world: World, tests: Files, fix: Files | None = None) -> tuple[int, int]:
    patch = make_patch(world.base, changes({SOURCE: FIX, **(fix or {})}))
    found = run_own_tests(world.problem, world.base, patch, make_patch(world.base, changes(tests)), world.sandboxes)
    return found.passed, found.proved


def test_a_test_proves_the_fix_by_failing_without_it(world: World) -> None:
    wrong = PROOF.replace("_first", "_wrong").replace("== 5", "== 6")
    of_a_new_file = "from shop.tax import tax\n\ndef test_tax():\n    assert tax() == 1\n"
    tests = {
        "tests/test_own.py": PROOF + KNOWN + wrong, TESTS: PROOF + KNOWN, "tests/test_tax.py": of_a_new_file
    }  # fmt: skip
    assert own(world, tests, {"shop/tax.py": "def tax():\n    return 1\n"}) == (5, 3)


def test_hidden_tests_are_not_where_own_tests_run(make_unboxed: MakeWorld) -> None:
    world = make_unboxed(hidden={"tests/test_hidden.py": "def test_hidden(): pass\n"})
    look = "import os\n\ndef test_look():\n    assert set(os.listdir('tests')) == {'test_look.py', 'test_price.py'}\n"
    text = "\ndef test_text():\n    assert 'test_total' not in open('tests/test_price.py').read()\n"
    assert own(world, {"tests/test_look.py": look + text}) == (2, 0)


def test_only_files_that_the_runner_of_the_problem_runs_count(world: World) -> None:
    others = {"tests/conftest.py": "", "tests/data.json": "{}", "tests/own.test.js": "test('a', () => {})"}
    assert own(world, others) == (0, 0)
    assert own(world, {TESTS: None}) == (0, 0)


def test_a_run_that_is_ended_proves_nothing(world: World) -> None:
    assert own(world, {"tests/test_own.py": PROOF, "tests/conftest.py": "import os\nos._exit(0)\n"}) == (0, 0)
    on_base = "import os\nif 'prices[1:]' in open('shop/price.py').read():\n    os._exit(0)\n"
    assert own(world, {"tests/test_own.py": PROOF, "tests/conftest.py": on_base}) == (1, 0)


def test_tests_that_do_not_apply_are_an_error(world: World) -> None:
    broken = "--- a/tests/x.py\n+++ b/tests/x.py\n@@ -1 +1 @@\n-a\n+b\n"
    with pytest.raises(PatchError):
        run_own_tests(world.problem, world.base, "", broken, sandboxes=world.sandboxes)
    assert run_own_tests(world.problem, world.base, "", "", sandboxes=world.sandboxes) == OwnTests(passed=0, proved=0)
