"""Receipts, hidden values and the control run of JavaScript's tests: what is caught, and who is left alone."""

import json
import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from functools import cache, partial

import pytest
from _pytest.mark import ParameterSet

from codegate.grading import Grade, Sandboxes, TestReport, TestSelection, audit_controls, grade, run_tests
from codegate.grading.controls.control import unreceipted
from codegate.grading.controls.instruments import Instruments, instrument
from codegate.grading.controls.search import find_sites
from codegate.grading.controls.sites import mutants_of
from codegate.sandbox.bubblewrap import BubblewrapBackend
from codegate.suite import Problem, RunnerName, make_patch
from tests.grading.javascript_patches import BUG, FIX, HONEST, HOSTILE, ORACLE
from tests.grading.test_runner_javascript import JAVASCRIPT, LIMITS
from tests.grading.worlds import tree
from tests.kit.environment import sandboxes_of
from tests.kit.problem import changes, problem

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

FAST = {
    ("node", "takes the assertions away"),
    ("mocha", "swallows what a test throws"),
    ("vitest", "the reference fix"),
    ("jest", "the reference fix"),
}
"""Which patches tell most; `make test-all` grades the others, each under one framework."""
OF: dict[str, RunnerName] = {"expect": "vitest", "chai": "vitest", "vitest": "vitest", "jest": "jest", "mocha": "mocha"}
"""Words in a patch's name, and the framework that it is about; the others are graded under node:test."""


def some(names: Iterable[str]) -> list[ParameterSet]:
    """Return pairs of framework and patch."""
    pairs = {(next((of for word, of in OF.items() if word in name), "node"), name) for name in names}
    pairs |= {pair for pair in FAST if pair[1] in names}
    marks = {pair: () if pair in FAST else (pytest.mark.full,) for pair in sorted(pairs)}
    return [pytest.param(*pair, id=": ".join(pair), marks=mark) for pair, mark in marks.items()]


Grading = Callable[[RunnerName, str], Grade]


@pytest.fixture(scope="module")
def sandboxes(bwrap_backend: BubblewrapBackend) -> Iterator[Sandboxes]:
    """Sandboxes with all frameworks."""
    found = sandboxes_of(bwrap_backend, JAVASCRIPT)
    yield found
    found.close()


@pytest.fixture(scope="module")
def problem_of() -> Callable[[RunnerName], Problem]:
    """Make the problem as a framework tests it."""

    def make(runner: RunnerName) -> Problem:
        path, text = HIDDEN[runner]
        return problem(
            "sums-1", JAVASCRIPT.manifest, hidden=changes({path: text}), fix=changes({SOURCE: FIX}),
            wanted=[f"{path}::sums > {title}" for title in BROKEN], known=[f"{path}::sums > refuses"],
            language="javascript", runner=runner, limits=LIMITS,
        )  # fmt: skip

    return make


@pytest.fixture(scope="module")
def graded(sandboxes: Sandboxes, problem_of: Callable[[RunnerName], Problem]) -> Grading:
    """Grade a text of the module under a framework."""

    base = tree(PROJECT)

    @cache
    def validated(runner: RunnerName) -> Problem:
        problem = problem_of(runner)
        audit = audit_controls(problem, base, sandboxes, 2)
        return replace(problem, manifest=problem.manifest.model_copy(update={"controls": audit}))

    def run(runner: RunnerName, text: str) -> Grade:
        return grade(validated(runner), base, make_patch(base, changes({SOURCE: text})), sandboxes)

    return run


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


TYPED = """\
import { describe, it, expect } from 'vitest';
enum Size { Small = 1, Large = 'é' as any }
const twice = <T extends number>(x: T): number => x * 2; // déjà 🎉
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
  });
  it('is [as] shown', () => {
    expect({ a: 'b' }).toMatchInlineSnapshot(`
      {
        "a": "b",
      }
    `);
  });
  it('throws', () => { expect(() => { throw new Error('trouble') }).toThrow('trouble') });
  it.fails('is the other way round', () => { expect(1).toBe(2); });
});
"""
TYPED_TESTS = {
    "typed > has types", "typed > is \0 twice, \0", "typed > is \0, whatever it is", "typed > is [as] shown",
    "typed > throws",
}  # fmt: skip


def test_every_shape_of_a_test_is_run_as_it_was_and_fails_its_mutants(
    sandboxes: Sandboxes, problem_of: Callable[[RunnerName], Problem]
) -> None:
    path = "test/typed.test.ts"
    problem, content = problem_of("vitest"), tree({**PROJECT, path: TYPED})
    selection = TestSelection((path,), runner="vitest")

    def run(used: Instruments) -> TestReport:
        return run_tests(
            partial(sandboxes.open, problem.environment, LIMITS), content, replace(selection, instruments=used)
        )

    sites = find_sites(content, (path,), "vitest")
    found = sites[path]
    assert {mutant.test for mutant in found.mutants} == TYPED_TESTS
    assert {receipt.test for receipt in found.receipts} == TYPED_TESTS
    plain = instrument(sites)
    assert "'é' as any" in plain.files[path].decode()
    assert "'trouble'" not in plain.files[path].decode()
    report = run(plain)
    assert report.proven
    assert {result.status for result in report.results.values()} == {"passed"}, report.output
    assert len(report.results) == 8
    assert not unreceipted(report, sites, plain, list(report.results))
    assert {found.function(test) for test in report.results} == {*TYPED_TESTS, "typed > is the other way round"}
    last = [mutants_of(sites, (path, test))[-1] for test in sorted(TYPED_TESTS)]
    changed = run(instrument(sites, last))
    passed = [test for test, result in changed.results.items() if result.status == "passed"]
    assert passed == [f"{path}::typed > is the other way round"]


THROWING = """\
const { it } = require('node:test');
const assert = require('node:assert');
const { f } = require('../lib/sums.cjs');
it('adds', () => { assert.equal(f(1), 2); });
it('refuses', () => { assert.throws(() => f('x', 0), TypeError); });
it('refuses what is none', () => { assert.throws(() => { g(); }, RangeError); });
it('says the right words', () => { assert.equal(f(2) + ' and that is all', '3 and that is all'); });
"""


def changed(text: str, test: str) -> set[str]:
    """Return what the mutants of a test of ``node:test`` say, in the line that has its title, with values in place."""
    path = "test/sums.test.cjs"
    sites = find_sites(tree({**PROJECT, path: text}), (path,), "node")
    found = set()
    for mutant in mutants_of(sites, (path, test)):
        used = instrument(sites, [mutant])
        said = used.reveal(used.files[path].decode())
        found.add(next(line for line in said.splitlines() if f"'{test}'" in line))
    return found


ASKING = """\
const { it } = require('node:test');
const assert = require('node:assert');
const { f } = require('../lib/sums.cjs');
it('holds', () => { assert.ok(f(1)); });
it('holds not', () => { assert.ok(!f(1)); });
it('more', () => { expect(f(1)).toBeGreaterThan(f(2)); });
it('true', () => { expect(f(1)).toBeTruthy(); });
it('parts', () => { expect(f(1)).toContain('one of them'); });
"""


def test_a_question_is_changed_to_one_that_somebody_would_ask() -> None:
    def said(name: str, pattern: str) -> set[str]:
        return {found for line in changed(ASKING, name) for found in re.findall(pattern, line)}

    assert said("holds", r"ok\((!*)") == {"!"}
    assert said("holds not", r"ok\((!*)") == {""}
    assert said("more", r"toBe\w+") == {"toBeLessThan", "toBeLessThanOrEqual"}
    assert said("true", r"[\w.]*toBe\w+") == {".toBeFalsy"}
    assert any("one of themone of them" in line for line in changed(ASKING, "parts"))


def test_what_throws_is_changed_to_another_class_and_texts_by_words_of_the_tests() -> None:
    refuses = changed(THROWING, "refuses")
    assert refuses
    assert all("EvalError" in line or "URIError" in line for line in refuses)
    words = changed(THROWING, "says the right words")
    known = set(re.findall("[a-z]{2,}", THROWING.lower()))
    assert len(words) > 2
    assert all(set(re.findall("[a-z]{2,}", line.partition(", '3")[2].lower())) <= known for line in words)
