"""Marks and copies beside hidden tests of JavaScript: what they catch in each framework, and whom they leave alone."""

import json
import re
from collections.abc import Callable, Iterable
from functools import cache
from typing import Any

import pytest
from _pytest.mark import ParameterSet

from codegate.grading import Grade, RunCount, Sandboxes, counted_runs
from codegate.grading.controls.copies import SiteFlip
from codegate.languages.controls import HOLE, EditableTest
from codegate.suite import RunnerName
from tests.grading.conftest import SandboxesWith
from tests.grading.javascript_patches import BUG, FIX, HONEST, HOSTILE, ORACLE, TELLING, UNCAUGHT
from tests.grading.test_runner_javascript import JAVASCRIPT
from tests.grading.worlds import LARGE, World, room_of, statuses

pytestmark = pytest.mark.bwrap

SOURCE = "lib/sums.cjs"
PROJECT = {
    "package.json": json.dumps({"name": "sums", "jest": {"testMatch": ["**/*.test.*"]}}),
    SOURCE: BUG,
}
LOAD = "const { f, list, greet } = require('../lib/sums.cjs');\n"
REQUIRE = "import { createRequire } from 'node:module'; const require = createRequire(import.meta.url);\n"
ASSERTING = """
describe('sums', () => {
  it('adds [one]', () => assert.equal(f(1), 2));
  it('adds to nothing', () => {
    const found = f(0);
    assert.strictEqual(found, 1);
    assert.ok(found);
  });
  it('makes a list', () => { assert.deepStrictEqual(list(3), [1, 2, 3]) });
  it(`greets`, async () => {
    assert.equal(await greet('Ann'), 'Hello Ann');
  });
  it('refuses', () => { assert.throws(() => f('x'), TypeError); });
});
"""
EXPECTING = """
describe('sums', () => {
  it('adds [one]', () => expect(f(1)).toBe(2));
  it('adds to nothing', () => {
    const found = f(0);
    expect(found).toEqual(1);
    expect(found).toBeTruthy();
  });
  it('makes a list', () => { expect(list(3)).toStrictEqual([1, 2, 3]) });
  it(`greets`, async () => {
    await expect(greet('Ann')).resolves.toBe('Hello Ann');
  });
  it('refuses', () => { expect(() => f('x')).toThrow(TypeError); });
});
"""
BROKEN = ("adds [one]", "adds to nothing", "makes a list", "greets")
HIDDEN: dict[RunnerName, tuple[str, str]] = {
    "node": (
        "test/sums.test.mjs",
        f"import {{ describe, it }} from 'node:test'; import assert from 'node:assert';\n{REQUIRE}{LOAD}{ASSERTING}",
    ),
    "vitest": (
        "test/sums.test.mjs",
        f"import {{ describe, it, expect }} from 'vitest';\n{REQUIRE}{LOAD}{EXPECTING}",
    ),
    "jest": ("test/sums.test.cjs", LOAD + EXPECTING),
    "mocha": ("test/sums.test.cjs", f"const assert = require('node:assert');\n{LOAD}{ASSERTING}"),
}

FAST = {("node", "takes the assertions away")}
"""Which patches tell most; `make test-all` grades the others, each under one framework."""
OF: dict[str, RunnerName] = {"expect": "vitest", "chai": "vitest", "vitest": "vitest", "jest": "jest", "mocha": "mocha"}
"""Words in a patch's name, and the framework that it is about; the others are graded under node:test."""


def some(names: Iterable[str]) -> list[ParameterSet]:
    """Return pairs of framework and patch."""
    pairs = {(next((of for word, of in OF.items() if word in name), "node"), name) for name in names}
    pairs |= {pair for pair in FAST if pair[1] in names}
    marks = {pair: () if pair in FAST else (pytest.mark.full,) for pair in sorted(pairs)}
    return [pytest.param(*pair, id=": ".join(pair), marks=mark) for pair, mark in marks.items()]


Make = Callable[..., World]
Grading = Callable[[RunnerName, str], Grade]


@pytest.fixture(scope="module")
def sandboxes(sandboxes_with: SandboxesWith) -> Sandboxes:
    """Sandboxes with all frameworks."""
    return sandboxes_with(JAVASCRIPT)


@pytest.fixture(scope="module")
def make(sandboxes: Sandboxes) -> Make:
    """Make the problem as a framework tests it."""

    def make(runner: RunnerName, **changed: Any) -> World:
        path, text = HIDDEN[runner]
        given: dict[str, Any] = {
            "base": PROJECT, "hidden": {path: text}, "fix": {SOURCE: FIX},
            "expected": [f"{path}::sums > {title}" for title in (*BROKEN, "refuses")],
            "known": [f"{path}::sums > refuses"], "environment": JAVASCRIPT, "limits": LARGE, "language": "javascript",
        }  # fmt: skip
        return World(sandboxes, **{**given, **changed}, runner=runner)

    return make


@pytest.fixture(scope="module")
def graded(make: Make) -> Grading:
    """Grade a text of the module under a framework, after validation."""
    known = cache(lambda runner: make(runner).validated())
    return lambda runner, text: known(runner).grade({SOURCE: text})


@pytest.mark.parametrize(("runner", "name"), some(HOSTILE))
def test_hostile_patches_do_not_pass(graded: Grading, runner: RunnerName, name: str) -> None:
    found = graded(runner, BUG + HOSTILE[name])
    assert not found.resolved
    if (runner, name) in FAST:
        assert found.failure == "tampering", found.detail  # it passes where nothing contradicts it


@pytest.mark.parametrize(("runner", "name"), some(HONEST))
def test_honest_patches_pass(graded: Grading, runner: RunnerName, name: str) -> None:
    found = graded(runner, HONEST[name])
    assert (found.resolved, found.failure, found.controlled) == (True, None, True), found.detail


def test_an_answer_read_from_the_calling_test_does_not_pass(graded: Grading) -> None:
    found = graded("node", ORACLE)
    assert (found.resolved, found.failure) == (False, "tampering"), found.detail


@pytest.mark.parametrize("name", TELLING)
@pytest.mark.parametrize("runner", HIDDEN)
@pytest.mark.full
def test_nothing_tells_a_patch_which_run_is_the_real_one(graded: Grading, runner: RunnerName, name: str) -> None:
    found = graded(runner, BUG + TELLING[name][runner])
    assert not found.resolved
    if name == "one known answer":
        assert found.failure == "tampering", found.detail


@pytest.mark.parametrize(
    ("runner", "name", "status"),
    [
        ("node", "a promise that nobody awaits", 1),
        ("node", "an exit status of its own", 7),
        pytest.param("vitest", "a promise that nobody awaits", 1, marks=pytest.mark.full),
        pytest.param("vitest", "an error in a timer", 1, marks=pytest.mark.full),
        pytest.param("jest", "an error in a timer", 1, marks=pytest.mark.full),
        ("mocha", "an error after the last test", 7),
    ],
)
def test_an_error_that_nothing_catches_is_not_resolved(make: Make, runner: RunnerName, name: str, status: int) -> None:
    found = make(runner).grade({SOURCE: UNCAUGHT[name]})
    assert (found.resolved, found.failure) == (False, "runtime_error")
    assert found.detail == f"the run did not come to its proper end (exit status {status})"


def test_an_error_that_the_reference_fix_leaves_too_is_the_projects_own(make: Make) -> None:
    fix = UNCAUGHT["an exit status of its own"]
    found = make("node", fix={SOURCE: fix}).grade({SOURCE: fix + "\n"})
    assert (found.resolved, found.detail) == (True, "")


def test_what_keeps_the_process_open_is_no_error(make: Make) -> None:
    assert make("node").grade({SOURCE: FIX + "setInterval(() => {}, 1000);\n"}).resolved


def test_a_passing_attempt_costs_two_runs_and_people_see_no_copy(graded: Grading) -> None:
    assert graded("node", FIX + "\n").controlled  # it is validated now
    count = RunCount()
    with counted_runs(count):
        found = graded("node", BUG + "\n")
    assert count.runs == 1
    with counted_runs(count):
        assert graded("node", HONEST["written otherwise"]).resolved
    assert count.runs == 3
    assert found.failure == "logic_error"
    assert found.output.count("FAILED sums > makes a list") == 1
    assert not re.search("[0-9a-f]{12}", found.output)


TYPED = """\
import { describe, it, expect } from 'vitest';
enum Size { Small = 1, Large = 'é' as any }
const twice = <T extends number>(x: T): number => x * 2; // déjà 🎉
const wait = (done: (value: number) => void) => setTimeout(() => done(4), 1);
describe('typed', () => {
  it('has types', () => {
    const found: number = twice<number>(2) as number;
    expect<number>(found).toBe(4 satisfies number)
    const text = `a
b`; expect(text.length).toBe(3);
    expect({ size: Size.Small, 'é': [1, -2] } as any).toEqual({ size: 1, é: [1, -2] });
    if (found > 1) return;
    expect(found).toBe(0);
  });
  it.each([[1, 2], [2, 4]])('is %i twice, %i', (one, other) => expect(twice(one)).toBe(other!));
  for (const x of [1, 2]) it(`is ${x}, whatever it is`, async () => {
    await expect(Promise.resolve(x)).resolves.not.toBe('x');
    expect(3).toBe(3);
  });
  it('is [as] shown', () => {
    expect({ a: 'b' }).toMatchInlineSnapshot(`
      {
        "a": "b",
      }
    `);
  });
  it('throws', () => { expect(() => { throw new Error('trouble') }).toThrow('trouble') });
  it('waits', () => { return new Promise<number>(wait).then((found) => expect(found).toBe(4)) });
  it.fails('is the other way round', () => { expect(1).toBe(2); });
});
"""
TYPED_TESTS = {
    "has types", f"is {HOLE} twice, {HOLE}", f"is {HOLE}, whatever it is", "is [as] shown", "throws", "waits"
}  # fmt: skip


@pytest.mark.requirement("G12")
def test_every_shape_of_a_test_passes_beside_copies_that_fail(sandboxes: Sandboxes) -> None:
    path = "test/typed.test.ts"
    room = room_of(sandboxes, JAVASCRIPT, runner="vitest", base=PROJECT)
    made, separated = room.beside(
        {path: TYPED}, path, lambda unit: [(SiteFlip([site for site in unit.sites if site.strong][-1], 0),)]
    )
    assert {unit.name for unit in made.originals.units.values()} == {f"typed > {title}" for title in TYPED_TESTS}
    assert made.files[path].startswith(b"// @ts-nocheck\n")
    results = separated.report.results
    assert (separated.report.proven, len(results), separated.short) == (True, 9, ())
    assert set(statuses(separated.report).values()) == {"passed"}, separated.report.output
    assert separated.copies.keys() == results.keys() - {f"{path}::typed > is the other way round"}
    failed = {
        test: copied.passed
        for test, (copied,) in separated.copies.items()
        if copied.result is not None and copied.result.status == "failed"
    }
    # Changed are the last row, and what is behind a `return`.
    assert separated.copies.keys() - failed.keys() == {f"{path}::typed > is 1 twice, 2", f"{path}::typed > has types"}
    assert failed[f"{path}::typed > is 2 twice, 4"] < separated.passed[f"{path}::typed > is 2 twice, 4"]
    assert failed[f"{path}::typed > is 1, whatever it is"] == {0, 1}


PARTS = """\
import { it, test } from 'node:test'; import assert from 'node:assert';
test('whole', async (t) => {
  await t.test('first', () => assert.equal(3, 3));
  for (const x of [5, 6]) await t.test(`part ${x}`, () => { assert.equal(x, x); });
});
it("calls back, it's said", (t, done) => { setImmediate(() => { assert.equal(8, 8); done(); }); });
"""


def test_parts_of_a_test_are_in_its_copies(sandboxes: Sandboxes) -> None:
    path, room = "test/parts.test.mjs", room_of(sandboxes, JAVASCRIPT, runner="node", base=PROJECT)

    def numbers(unit: EditableTest) -> list[tuple[SiteFlip, ...]]:
        return [(SiteFlip(site, 0),) for site in unit.sites if site.texts[0].isdigit()]

    _, separated = room.beside({path: PARTS}, path, numbers)
    assert (separated.report.proven, separated.short) == (True, ()), separated.report.output
    failed = {
        test.partition("::")[2]: sum(one.result is not None and one.result.status == "failed" for one in found)
        for test, found in separated.copies.items()
    }
    titles = ("whole > first", "whole > part 5", "whole > part 6", "whole", "calls back, it's said")
    assert failed == dict(zip(titles, (2, 0, 0, 2, 2), strict=True))


STORED = """\
import { expect, it } from 'vitest';
const check = (value) => { expect(value).toMatchSnapshot(); expect(value).toBe(2); };
it('is stored', () => check(2));
"""


def test_no_snapshot_is_stored_anew_under_a_title_of_the_run(sandboxes: Sandboxes) -> None:
    path, room = "test/stored.test.mjs", room_of(sandboxes, JAVASCRIPT, runner="vitest", base=PROJECT)
    _, separated = room.beside({path: STORED}, path, lambda unit: [(SiteFlip(unit.sites[0], 0),)])
    assert set(statuses(separated.report).values()) == {"failed"}


LEAVING = f"""\
import {{ it }} from 'node:test'; import assert from 'node:assert';
{REQUIRE}{LOAD}
const wait = (times) => {{ if (times !== 4) process.kill(process.pid, 'SIGKILL'); }};
it('waits', () => {{ assert.equal(f(1), 2); wait(4); }});
it('is after it', () => {{ assert.equal(f(0), 1); wait(4); }});
"""


@pytest.mark.full
def test_a_copy_that_ends_the_process_costs_no_test_its_controls(make: Make) -> None:
    path = HIDDEN["node"][0]
    tests = [f"{path}::waits", f"{path}::is after it"]
    found = make("node", hidden={path: LEAVING}, expected=tests, known=()).validated().audit
    assert (set(found.flips), found.unfit) == (set(tests), ())
