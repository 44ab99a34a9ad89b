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

_MINUTES: Final = """\
'use strict';

exports.minutes = (text) => {
  const [hours, rest] = text.split(':').map(Number);
%s  return hours * 60 + rest;
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

_NODEOK: Final = _problem(
    bug="'use strict';\n\nexports.isName = (text) => text.length === 1;\n",
    fix="'use strict';\n\nexports.isName = (text) => /^[a-z_]\\w*$/i.test(text);\n",
    hidden={
        "test/names.test.cjs": """\
const { test } = require('node:test');
const assert = require('node:assert/strict');
const { isName } = require('../lib/names.cjs');

test('names', () => {
  assert.ok(isName('alpha'));
  assert.ok(isName('b2'));
});

test('no names', () => {
  assert.ok(!isName('2'));
  assert.ok(!isName('-'));
});

test('underscores', () => {
  assert(isName('_c') === true);
});
"""
    },
    fail_to_pass=tuple(f"test/names.test.cjs::{one}" for one in ("names", "no names", "underscores")),
)

_NODETHROWS: Final = _problem(
    bug=_MINUTES % "",
    fix=_MINUTES % "  if (!(hours >= 0 && rest < 60)) throw new RangeError(text);\n",
    hidden={
        "test/names.test.cjs": """\
const { test } = require('node:test');
const assert = require('node:assert/strict');
const { minutes } = require('../lib/names.cjs');

test('times', () => {
  assert.equal(minutes('1:30'), 90);
  assert.equal(minutes('0:05'), 5);
});

test('too many', () => {
  assert.throws(() => minutes('1:60'), RangeError);
});

test('negative', () => {
  assert.throws(() => minutes('-1:00'), RangeError);
});
"""
    },
    fail_to_pass=tuple(f"test/names.test.cjs::{one}" for one in ("too many", "negative")),
    pass_to_pass=("test/names.test.cjs::times",),
)

_NODENOT: Final = _problem(
    bug="'use strict';\n\nexports.words = (text) => [text];\n",
    fix="'use strict';\n\nexports.words = (text) => text.split(/\\s+/);\n",
    hidden={
        "test/names.test.cjs": """\
const { test } = require('node:test');
const { expect } = require('./expect.cjs');
const { words } = require('../lib/names.cjs');

test('contains', () => {
  expect(words('red green')).toContain('green');
});

test('more', () => {
  expect(words('red green blue').length).toBeGreaterThan(2);
});

test('true', () => {
  expect(words('a b').includes('b')).toBeTruthy();
});
""",
        "test/expect.cjs": """\
const assert = require('node:assert/strict');
const matchers = (found, no) => ({
  toContain: (one) => assert.equal(found.includes(one), !no),
  toBeGreaterThan: (one) => assert.equal(found > one, !no),
  toBeTruthy: () => assert.equal(Boolean(found), !no),
});
exports.expect = (found) => ({ ...matchers(found, false), not: matchers(found, true) });
""",
    },
    fail_to_pass=tuple(f"test/names.test.cjs::{one}" for one in ("contains", "more", "true")),
)

#: By id of the project: its fields.
NODE_FORMS: Final[dict[str, dict[str, Any]]] = {
    "node-names": _NODENAMES,
    "node-expect": _NODEEXPECT,
    "node-ok": _NODEOK,
    "node-refuses": _NODETHROWS,
    "node-not": _NODENOT,
}
