"""Mocha from its third major version on, through its command line and its reporters alone."""

import json
from collections.abc import Callable

import pytest

from codegate.grading import TestReport
from tests.grading.conftest import SandboxesWith
from tests.grading.worlds import room_of, statuses
from tests.kit.environment import with_node

pytestmark = [pytest.mark.bwrap, pytest.mark.full]

VERSIONS = ("3.5.3", "5.2.0", "6.2.3", "8.4.0", "11.7.4")
FILE = "test/sums.test.js"
Run = Callable[..., TestReport]


@pytest.fixture(scope="module", params=VERSIONS)
def version(request: pytest.FixtureRequest) -> str:
    """Each version in turn."""
    return str(request.param)


@pytest.fixture(scope="module")
def run(sandboxes_with: SandboxesWith, version: str) -> Run:
    """Runs one file of a project under one version."""
    environment = with_node(f"mocha-{version}", f"mocha@{version}")
    room = room_of(sandboxes_with(environment), environment, runner="mocha")

    def run(text: str, script: str = "mocha", files: dict[str, str] | None = None, **selection: object) -> TestReport:
        package = json.dumps({"name": "sums", "scripts": {"test": script}})
        content = {"package.json": package, FILE: "const assert = require('assert');\n" + text, **(files or {})}
        return room.run(content, FILE, **selection)

    return run


def test_every_test_is_reported_by_its_titles(run: Run) -> None:
    report = run("""
describe('sums', () => {
  describe('of one', () => {
    it('adds', () => {});
    it('is wrong', () => assert.equal(1, 2));
    it('takes long', function (done) { this.timeout(20); });
  });
  it.skip('is left out', () => {});
  describe('with a broken hook', () => { beforeEach(() => { null.x; }); it('never runs', () => {}); });
});
it('stands alone', async () => {});
setInterval(() => {}, 1000); // keeps the process alive
""")
    assert statuses(report, FILE) == {
        "sums > of one > adds": "passed",
        "sums > of one > is wrong": "failed",
        "sums > of one > takes long": "failed",
        "sums > is left out": "skipped",
        "sums > with a broken hook > never runs": "error",
        "stands alone": "passed",
    }
    assert report.proven
    assert report.crashes[f"{FILE}::sums > of one > is wrong"].parents == ("AssertionError",)
    assert "TimeoutError" in report.crashes[f"{FILE}::sums > of one > takes long"].parents


def test_the_order_can_be_reversed(run: Run) -> None:
    report = run("let turn = 0; it('a', () => assert.equal(turn++, 1)); it('b', () => assert.equal(turn++, 0));\n",
                 order="reversed")  # fmt: skip
    assert statuses(report, FILE) == {"a": "passed", "b": "passed"}


BESIDE = {
    "setup.js": "global.ready = (global.ready || 0) + 1;\n",
    "test/other.js": "it('is another', () => {});\n", "named.js": "it('is named', () => {});\n",
}  # fmt: skip
TEXT = "suite('s', () => test('is ready', function () { assert.deepEqual([ready, this.timeout()], [1, 777]); }));\n"


@pytest.mark.parametrize(
    ("since", "before", "script", "files"),
    [
        (0, 99, "nyc mocha -t 777 --require ./setup.js --ui tdd --reporter dot test/", {}),
        (0, 99, "mocha --ui bdd -t 1 --ui tdd --timeout 777 -r ./setup", {}),
        (0, 8, "mocha", {"test/mocha.opts": "# ours\n--require ./setup.js\n--ui tdd -t 777\n--bail\nnamed.js\n"}),
        (0, 8, "mocha --opts o", {"o": "-R dot -r ./setup.js\n-u tdd -t 777", "test/mocha.opts": "--ui exports"}),
        (6, 99, "mocha", {".mocharc.json": '{"require": "./setup", "ui": "tdd", "t": 777, "spec": ["named.js"]} // a'}),
        (6, 99, "mocha", {".mocharc.yml": "require: [./setup.js]\nui: tdd\ntimeout: 777\nreporter: dot\nfgrep: x\n"}),
        (6, 99, "mocha -t 777", {".mocharc.js": "module.exports = {require: ['./setup'], ui: 'tdd', timeout: 5};\n"}),
        (
            6, 99, "mocha --config c.json",
            {"c.json": '{"extends": "./d.json", "ui": "tdd"}', "d.json": '{"r": "./setup", "t": 777, "ui": "bdd"}'},
        ),
    ],
)  # fmt: skip
def test_the_options_of_the_script_and_of_the_configuration_hold(
    run: Run, version: str, since: int, before: int, script: str, files: dict[str, str]
) -> None:
    """Of those that name files, other reporters or an early end, none does."""
    if not since <= int(version.partition(".")[0]) < before:
        pytest.skip("this version does not read that file")
    report = run(TEXT, script, {**BESIDE, **files})
    assert (statuses(report, FILE), report.proven) == ({"s > is ready": "passed"}, True)
