"""JavaScript and TypeScript as text, before anything of it runs: only what used to compile can fail to."""

from collections.abc import Iterator

import pytest

from codegate.grading import Sandboxes
from codegate.grading.inspection import Inspection, inspect
from codegate.sandbox.bubblewrap import BubblewrapBackend
from codegate.suite import ProblemLimits, Tree, TreeFile
from tests.kit.environment import WITH_NODE, sandboxes_of

pytestmark = pytest.mark.bwrap


@pytest.fixture(scope="module")
def sandboxes(bwrap_backend: BubblewrapBackend) -> Iterator[Sandboxes]:
    """Sandboxes with Node alone."""
    found = sandboxes_of(bwrap_backend, WITH_NODE)
    yield found
    found.close()


def inspected(sandboxes: Sandboxes, before: dict[str, bytes], after: dict[str, bytes]) -> Inspection:
    base = Tree({path: TreeFile(data) for path, data in before.items()})
    with sandboxes.lease(WITH_NODE.manifest, ProblemLimits(memory_mb=2048, pids=256)) as lease:
        return inspect(lease, base, {path: TreeFile(data) for path, data in after.items()}, frozenset())


def test_what_no_longer_compiles_is_an_error_and_nothing_is_linted(sandboxes: Sandboxes) -> None:
    fine = {
        "module.js": b"import x from 'y'; export default await x;\n",
        "common.js": b"#!/usr/bin/env node\nconst x = require('y'); return;\n",
        "typed.ts": b"enum A { B }\nexport const f = <T>(x: T): T => x!;\n",
    }
    broken = {"a.js": b"const = 1;\n", "b.ts": b"const x: = 1;\n", "c.mjs": b"export {\n"}
    was = {"a.js": b"1;\n", "b.ts": b"let x: number;\n", "c.mjs": b"export {};\n", "jsx.js": b"x = <a/>;\n"}
    before = {**was, **dict.fromkeys(fine, b";\n")}

    found = inspected(sandboxes, before, {**fine, **broken, "jsx.js": b"y = <b/>;\n", "new.js": b"z = <c/>;\n"})

    assert set(found.errors) == set(broken)
    assert "SyntaxError" in found.errors["a.js"]
    assert found.lint is None
