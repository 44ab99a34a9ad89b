"""Problems of Node's own test framework: other forms of assertions, and tests that are about comments."""

from typing import Any, Final


def _problem(**fields: Any) -> dict[str, Any]:
    return {
        "source": "lib/names.cjs", "targets": (), "runner": "node", "environment": "node",
        "base": {
            "package.json": '{"name": "names", "version": "1.0.0"}\n',
            "test/names.test.cjs": "require('../lib/names.cjs');\n",
        },
        **fields,
    }  # fmt: skip


_NAMES: Final = """\
'use strict';

exports.names = (call) => {
  const text = call.toString()%s;
  const list = text.slice(text.indexOf('(') + 1, text.indexOf(')'));
  return list.split(',').map((one) => one.trim()).filter(Boolean);
};
"""

_EXPECT: Final = """\
'use strict';

exports.parser = (text) => {
  let at = 0;
  const parser = {
    expect(kind, word) {
      const found = text.split(' ')[at];
      if (found !== word) throw new SyntaxError(`${kind} ${word} expected`);
      %s;
      return parser;
    },
    at: () => at,
  };
  return parser;
};
"""


_NODENAMES: Final = _problem(
    bug=_NAMES % "",
    fix=_NAMES % r".replace(/\/\*.*?\*\//g, '')",
    hidden={
        "test/names.test.cjs": """\
const { test } = require('node:test');
const assert = require('node:assert/strict');
const { names } = require('../lib/names.cjs');

test('plain', () => {
  assert.deepEqual(names(function (one, two) {}), ['one', 'two']);
});

test('comments', () => {
  assert.deepEqual(names(function (one /* first */, /* last */ two) {}), ['one', 'two']);
});
"""
    },
    fail_to_pass=("test/names.test.cjs::comments",),
    pass_to_pass=("test/names.test.cjs::plain",),
)

_NODEEXPECT: Final = _problem(
    bug=_EXPECT % "at = 1",
    fix=_EXPECT % "at += 1",
    hidden={
        "test/names.test.cjs": """\
const { test } = require('node:test');
const assert = require('node:assert/strict');
const { parser } = require('../lib/names.cjs');

test('one', () => {
  assert.equal(parser('let a').expect('keyword', 'let').at(), 1);
});

test('two', () => {
  assert.equal(parser('let a').expect('keyword', 'let').expect('name', 'a').at(), 2);
});
"""
    },
    fail_to_pass=("test/names.test.cjs::two",),
    pass_to_pass=("test/names.test.cjs::one",),
)


#: By id of the project: its fields.
NODE_FORMS: Final[dict[str, dict[str, Any]]] = {
    "node-names": _NODENAMES,
    "node-expect": _NODEEXPECT,
}
