"""node:test, jest, vitest and mocha as they are, each in the same small project with the same tests."""

import json
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial

import pytest

from codegate.grading import TestReport, TestSelection, run_tests
from codegate.sandbox.bubblewrap import BubblewrapBackend
from codegate.suite import ProblemLimits, RunnerName, Tree, TreeFile
from tests.kit.environment import sandboxes_of, with_node

pytestmark = pytest.mark.bwrap

JAVASCRIPT = with_node("javascript", "jest@30.2.0", "mocha@11.7.4", "vitest@3.2.4")
LIMITS = ProblemLimits(seconds=120, memory_mb=2048, pids=256, disk_mb=512)
Run = Callable[..., TestReport]


@dataclass(frozen=True)
class Framework:
    """How a test file of a framework begins, and its ending."""

    name: RunnerName
    suffix: str
    head: str

    @property
    def file(self) -> str:
        return f"test/sums.test.{self.suffix}"


COMMON = "const { f } = require('../lib/sums.cjs'); const assert = require('node:assert');\n"
REQUIRE = "import { createRequire } from 'node:module'; const require = createRequire(import.meta.url);\n"
FRAMEWORKS = {
    "node": Framework("node", "mjs", f"import {{ describe, it }} from 'node:test'; {REQUIRE}{COMMON}"),
    "vitest": Framework("vitest", "mjs", f"import {{ describe, it }} from 'vitest'; {REQUIRE}{COMMON}"),
    "jest": Framework("jest", "cjs", COMMON),
    "mocha": Framework("mocha", "cjs", COMMON),
}
PROJECT = {
    "package.json": json.dumps({"name": "sums", "jest": {"testMatch": ["**/*.test.cjs"]}}),
    "lib/sums.cjs": "exports.f = (x) => x + 1;\n",
}
TESTS = """
describe('sums', () => {
  describe('of one', () => {
    it('adds', () => assert.equal(f(1), 2));
    it('is wrong', () => assert.equal(f(1), 3));
    it('breaks', () => { null.x; });
  });
  it.skip('is left out', () => {});
  it('has a twin', () => {});
  it('has a twin', () => assert.fail('the second'));
});
it('stands alone', async () => { await new Promise((done) => setTimeout(done, 5)); });
it('is in the mode of its framework', () => assert.equal(String(process.env.NODE_ENV), MODE));
"""


@pytest.fixture(scope="module")
def run(bwrap_backend: BubblewrapBackend) -> Iterator[Run]:
    """Runs one file of a project under a framework, in an environment that has them all."""
    sandboxes = sandboxes_of(bwrap_backend, JAVASCRIPT)

    def run(framework: Framework, text: str, selection: TestSelection | None = None, **files: str) -> TestReport:
        content = {**PROJECT, framework.file: framework.head + text, **files}
        tree = Tree({path: TreeFile(data.encode()) for path, data in content.items()})
        chosen = selection or TestSelection((framework.file,), runner=framework.name)
        return run_tests(partial(sandboxes.open, JAVASCRIPT.manifest, LIMITS), tree, chosen)

    yield run
    sandboxes.close()


@pytest.fixture(params=FRAMEWORKS)
def framework(request: pytest.FixtureRequest) -> Framework:
    """Each framework in turn."""
    return FRAMEWORKS[request.param]


def test_every_test_is_reported_by_its_titles(run: Run, framework: Framework) -> None:
    mode = "test" if framework.name in {"jest", "vitest"} else "undefined"  # as they set it themselves
    report = run(framework, TESTS.replace("MODE", repr(mode)))
    found = {test.removeprefix(f"{framework.file}::"): result for test, result in report.results.items()}
    assert {title: result.status for title, result in found.items()} == {
        "sums > of one > adds": "passed",
        "sums > of one > is wrong": "failed",
        "sums > of one > breaks": "failed",
        "sums > is left out": "skipped",
        "sums > has a twin": "failed",
        "stands alone": "passed",
        "is in the mode of its framework": "passed",
    }
    assert report.proven
    assert report.exit_code != 0
    assert found["sums > of one > breaks"].exception == "TypeError"
    parents = report.crashes[f"{framework.file}::sums > of one > is wrong"].parents
    assert parents == ("AssertionError",)


def test_order_and_clock_can_be_turned(run: Run, framework: Framework) -> None:
    """The reporter turns mocha; jest and vitest shuffle by a seed; node:test has no such switch."""
    later = int(time.time() + 399 * 86400) * 1000
    turns = "".join(f"it('t{number}', () => assert.equal(turn++, {number}));\n" for number in range(6))
    text = f"""
it('is later', () => assert.ok(Date.now() > {later} && new Date().getTime() > {later} && new Date(0).getTime() === 0));
describe('in turn', () => {{ let turn = 0; {turns} }});
"""
    selection = TestSelection(
        (framework.file,), runner=framework.name, order="reversed", hash_seed=1, clock_days=400
    )  # fmt: skip
    report = run(framework, text, selection)
    assert report.proven
    statuses = {test.rpartition("::")[2]: result.status for test, result in report.results.items()}
    assert statuses.pop("is later") == "passed"
    assert (set(statuses.values()) == {"passed"}) == (framework.name == "node")
    if framework.name == "mocha":
        assert set(statuses.values()) == {"failed"}


def test_who_leaves_early_has_not_passed(run: Run, framework: Framework) -> None:
    report = run(framework, "it('a', () => {});\nit('b', () => { process.reallyExit(0); });\n")
    result = report.results.get(f"{framework.file}::b")
    assert result is None or result.status != "passed"
    assert not report.proven or "passed" not in {result.status for result in report.results.values()}


def test_a_test_cannot_report_for_others(run: Run, framework: Framework) -> None:
    """It is told no token, inherits no channel, and what it writes to every descriptor it has is seen as a forgery."""
    forged = json.dumps({"kind": "phase", "id": f"{framework.file}::never", "when": "call", "outcome": "passed"})
    text = f"""
const fs = require('node:fs');
it('speaks', () => {{
  assert.equal(process.env.CODEGATE_CHANNEL, undefined);
  for (let fd = 3; fd < 60; fd += 1) {{
    try {{ if (fs.fstatSync(fd).isFIFO()) fs.writeSync(fd, 'x {forged}\\n'); }} catch {{}}
  }}
}});
"""
    report = run(framework, text)
    assert f"{framework.file}::never" not in report.results
    if framework.name != "vitest":  # its tests run in processes that have no such descriptor
        assert report.tampering


def test_the_channel_is_taken_before_any_code_of_the_repository_runs(run: Run) -> None:
    """node:test loads a reporter at a file's first test only; what the project has Node load comes earlier still."""
    source = "const found = process.env.CODEGATE_CHANNEL; exports.f = () => found;\n"
    manifest = json.dumps({"name": "sums", "scripts": {"test": "node --require ./lib/sums.cjs --test"}})
    text = "it('finds none', () => assert.equal(f(), undefined));\n"
    report = run(FRAMEWORKS["node"], text, **{"lib/sums.cjs": source, "package.json": manifest})
    assert [result.status for result in report.results.values()] == ["passed"]
    assert report.proven


def test_a_file_that_does_not_load_says_why(run: Run, framework: Framework) -> None:
    text = "const absent = require('left-pad-of-nobody');\nit('a', () => {});\n"
    (error,) = run(framework, text).collection_errors
    assert error.id == framework.file
    assert error.crash is not None
    assert error.crash.dependency == "left-pad-of-nobody"


def test_typescript_that_does_not_parse_is_a_syntax_error(run: Run) -> None:
    """Node may be too old to parse it before the tests run, and esbuild's error has a name of its own."""
    files = {"lib/half.ts": "export function half(n: number {\n  return n / 2;\n}\n"}
    text = "import { half } from '../lib/half.ts';\nit('halves', () => assert.equal(half(4), 2));\n"
    (error,) = run(FRAMEWORKS["vitest"], text, **files).collection_errors
    assert error.crash is not None
    assert error.crash.parents == ("SyntaxError",)
    assert error.crash.message == 'lib/half.ts:1:31: ERROR: Expected ")" but found "{"'


def test_the_projects_own_options_hold(run: Run) -> None:
    manifest = json.dumps({"name": "sums", "scripts": {"test": "nyc mocha --require ./setup.cjs --reporter dot test/"}})
    setup = "globalThis.ready = require('mocha') !== undefined;\n"
    files = {"package.json": manifest, "setup.cjs": setup, ".mocharc.json": '{"spec": ["test/**/*.cjs"]}'}
    other = {"test/other.cjs": "it('is another', () => {});\n"}
    report = run(FRAMEWORKS["mocha"], "it('is ready', () => assert.ok(ready));\n", **files, **other)
    assert {test: result.status for test, result in report.results.items()} == {
        "test/sums.test.cjs::is ready": "passed"
    }
    assert report.proven


@pytest.mark.parametrize(
    ("runner", "script", "configuration"),
    [
        ("node", "node --test --test-force-exit", "{}"),
        ("jest", "jest --forceExit", "{}"),
        ("mocha", "mocha --exit", "{}"),
        ("mocha", "mocha", '{"exit": true}'),
        ("node", "node --test", None),
        ("jest", "jest", None),
        ("mocha", "mocha", None),
    ],
)
def test_an_exit_is_forced_until_the_end_only_where_the_project_does(
    run: Run, runner: RunnerName, script: str, configuration: str | None
) -> None:
    framework = FRAMEWORKS[runner]
    manifest = json.dumps({**json.loads(PROJECT["package.json"]), "scripts": {"test": script}})
    files = {"package.json": manifest, ".mocharc.json": configuration or "{}"}
    chosen = TestSelection(
        (framework.file,), runner=runner, until_exit=True, timeout_seconds=60 if configuration else 4
    )
    text = "it('leaves a timer', () => { setInterval(() => {}, 1000); });\n"
    assert run(framework, text, chosen, **files).proven is (configuration is not None)


def test_a_file_of_another_project_of_vitest_breaks_nothing(run: Run) -> None:
    framework = FRAMEWORKS["vitest"]
    projects = ", ".join(f"{{test: {{name: '{name}', include: ['{name}/**']}}}}" for name in ("test", "app"))
    files = {"vitest.config.mjs": f"export default {{test: {{projects: [{projects}]}}}};\n"}
    files["app/own.test.mjs"] = "import { it } from 'vitest';\nit('is there', () => {});\n"
    command = ("vitest", "run", "--project", "app")
    chosen = TestSelection((framework.file, "app/own.test.mjs"), runner="vitest", command=command)
    report = run(framework, TESTS, chosen, **files)
    assert {test: result.status for test, result in report.results.items()} == {"app/own.test.mjs::is there": "passed"}
    assert (report.exit_code, report.proven) == (0, True)


def test_an_old_vitest_ends_with_a_status_for_errors_that_nothing_caught(bwrap_backend: BubblewrapBackend) -> None:
    environment, framework = with_node("vitest-1", "vitest@1.6.0"), FRAMEWORKS["vitest"]
    text = "it('leaves a promise', () => { Promise.reject(new Error('floating')); });\n"
    content = {**PROJECT, framework.file: f"import {{ it }} from 'vitest';\n{text}"}
    sandboxes = sandboxes_of(bwrap_backend, environment)
    opened = partial(sandboxes.open, environment.manifest, LIMITS)
    tree = Tree({path: TreeFile(data.encode()) for path, data in content.items()})
    report = run_tests(opened, tree, TestSelection((framework.file,), runner="vitest"))
    sandboxes.close()
    assert [result.status for result in report.results.values()] == ["passed"]
    assert (report.uncaught, report.exit_code) == (True, 1)
