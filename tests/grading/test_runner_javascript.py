"""node:test, jest, vitest and mocha as they are, each in the same small project with the same tests."""

import json
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import reduce

import pytest

from codegate.grading import TestReport
from codegate.grading.controls.copies import make_copies, read_originals
from codegate.suite import RunnerName
from tests.grading.conftest import SandboxesWith
from tests.grading.worlds import room_of, statuses, tree
from tests.kit.environment import recorded, with_node

pytestmark = pytest.mark.bwrap

PACKAGES = ("jest@30.2.0", "mocha@11.7.4", "vitest@3.2.4")
JAVASCRIPT = with_node("javascript", *PACKAGES)
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
def run(sandboxes_with: SandboxesWith) -> Run:
    """Runs one file of a project under a framework, in an environment that has them all."""
    room = room_of(sandboxes_with(JAVASCRIPT), JAVASCRIPT, base=PROJECT)

    def run(
        framework: Framework, text: str, /, *more: str, files: dict[str, str] | None = None, **selection: object
    ) -> TestReport:
        content = {framework.file: framework.head + text, **(files or {})}
        return room.run(content, framework.file, *more, runner=framework.name, **selection)

    return run


@pytest.fixture(params=FRAMEWORKS)
def framework(request: pytest.FixtureRequest) -> Framework:
    """Each framework in turn."""
    return FRAMEWORKS[request.param]


def titled(framework: Framework, report: TestReport, file: str) -> bool:
    """Return whether a report of ``TESTS`` has each test with its status."""
    assert statuses(report, file) == {
        "sums > of one > adds": "passed",
        "sums > of one > is wrong": "failed",
        "sums > of one > breaks": "failed",
        "sums > is left out": "skipped",
        "sums > has a twin": "failed",
        "stands alone": "passed",
        "is in the mode of its framework": "passed",
    }, report.output
    return report.proven


def source_of_tests(framework: Framework) -> str:
    mode = "test" if framework.name in {"jest", "vitest"} else "undefined"  # as they set it themselves
    return TESTS.replace("MODE", repr(mode))


def test_every_test_is_reported_by_its_titles(run: Run, framework: Framework) -> None:
    report = run(framework, source_of_tests(framework))
    assert titled(framework, report, framework.file)
    assert report.exit_code != 0
    assert report.results[f"{framework.file}::sums > of one > breaks"].exception == "TypeError"
    parents = report.crashes[f"{framework.file}::sums > of one > is wrong"].parents
    assert parents == ("AssertionError",)


@pytest.mark.full  # their environment is large
def test_each_framework_runs_from_a_folder_of_the_tree_by_a_named_script(
    sandboxes_with: SandboxesWith, framework: Framework
) -> None:
    install = f"mkdir web && cd web && npm install {' '.join(PACKAGES)} && rm package*.json"
    environment, file = recorded("web", install, node="22"), f"web/{framework.file}"
    options = {"node": "--conditions=own", "mocha": "--ui=tdd", "vitest": "--environment=node", "jest": "--env=node"}
    tdd = {"describe(": "suite(", "it(": "test(", "it.": "test."} if framework.name == "mocha" else {}
    text = reduce(lambda so_far, word: so_far.replace(word, tdd[word]), tdd, source_of_tests(framework))
    program = "node --test" if framework.name == "node" else framework.name
    scripts = {"test": "exit 1", "own": f"{program} {options[framework.name]}"}
    content = {f"web/{path}": data for path, data in PROJECT.items()} | {file: framework.head + text}
    content["web/package.json"] = json.dumps({**json.loads(PROJECT["package.json"]), "scripts": scripts})
    texts = read_originals(tree(content), (file,), framework.name)
    used = make_copies(texts, texts.units.values(), {})
    assert used.marks
    room = room_of(sandboxes_with(environment), environment, runner=framework.name)
    report = room.run(content, file, command=("npm", "run", "own"), folder="web", copies=used)
    assert titled(framework, report, file)
    assert report.receipts[f"{file}::sums > of one > adds"]


def test_order_and_clock_can_be_turned(run: Run, framework: Framework) -> None:
    """The reporter turns mocha; jest and vitest shuffle by a seed; node:test has no such switch."""
    later = int(time.time() + 399 * 86400) * 1000
    turns = "".join(f"it('t{number}', () => assert.equal(turn++, {number}));\n" for number in range(6))
    text = f"""
it('is later', () => assert.ok(Date.now() > {later} && new Date().getTime() > {later} && new Date(0).getTime() === 0));
describe('in turn', () => {{ let turn = 0; {turns} }});
"""
    report = run(framework, text, order="reversed", hash_seed=1, clock_days=400)
    assert report.proven
    found = statuses(report, framework.file)
    assert found.pop("is later") == "passed"
    assert (set(found.values()) == {"passed"}) == (framework.name == "node")
    if framework.name == "mocha":
        assert set(found.values()) == {"failed"}


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
    report = run(FRAMEWORKS["node"], text, files={"lib/sums.cjs": source, "package.json": manifest})
    assert (list(statuses(report).values()), report.proven) == (["passed"], True)


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
    (error,) = run(FRAMEWORKS["vitest"], text, files=files).collection_errors
    assert error.crash is not None
    assert error.crash.parents == ("SyntaxError",)
    assert error.crash.message == 'lib/half.ts:1:31: ERROR: Expected ")" but found "{"'


def test_the_projects_own_options_hold(run: Run) -> None:
    manifest = json.dumps({"name": "sums", "scripts": {"test": "nyc mocha --require ./setup.cjs --reporter dot test/"}})
    setup = "globalThis.ready = require('mocha') !== undefined;\n"
    files = {"package.json": manifest, "setup.cjs": setup, ".mocharc.json": '{"spec": ["test/**/*.cjs"]}'}
    files["test/other.cjs"] = "it('is another', () => {});\n"
    report = run(FRAMEWORKS["mocha"], "it('is ready', () => assert.ok(ready));\n", files=files)
    assert (statuses(report), report.proven) == ({"test/sums.test.cjs::is ready": "passed"}, True)


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
    manifest = json.dumps({**json.loads(PROJECT["package.json"]), "scripts": {"test": script}})
    files = {"package.json": manifest, ".mocharc.json": configuration or "{}"}
    text, seconds = "it('leaves a timer', () => { setInterval(() => {}, 1000); });\n", 60 if configuration else 4
    report = run(FRAMEWORKS[runner], text, files=files, until_exit=True, timeout_seconds=seconds)
    assert report.proven is (configuration is not None)


def test_a_file_of_another_project_of_vitest_breaks_nothing(run: Run) -> None:
    projects = ", ".join(f"{{test: {{name: '{name}', include: ['{name}/**']}}}}" for name in ("test", "app"))
    files = {"vitest.config.mjs": f"export default {{test: {{projects: [{projects}]}}}};\n"}
    files["app/own.test.mjs"] = "import { it } from 'vitest';\nit('is there', () => {});\n"
    command = ("vitest", "run", "--project", "app")
    report = run(FRAMEWORKS["vitest"], TESTS, "app/own.test.mjs", files=files, command=command)
    assert statuses(report) == {"app/own.test.mjs::is there": "passed"}
    assert (report.exit_code, report.proven) == (0, True)


def test_an_old_vitest_ends_with_a_status_for_errors_that_nothing_caught(sandboxes_with: SandboxesWith) -> None:
    environment, file = with_node("vitest-1", "vitest@1.6.0"), FRAMEWORKS["vitest"].file
    text = "import { it } from 'vitest';\nit('leaves a promise', () => { Promise.reject(new Error('floating')); });\n"
    room = room_of(sandboxes_with(environment), environment, runner="vitest", base=PROJECT)
    report = room.run({file: text}, file)
    assert list(statuses(report).values()) == ["passed"]
    assert (report.uncaught, report.exit_code) == (True, 1)
