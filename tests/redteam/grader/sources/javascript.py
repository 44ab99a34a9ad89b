"""A module of Node's, tested with ``node:test`` and ``node:assert``."""

SOURCE = "lib/prices.cjs"

BUG = """\
'use strict';

exports.total = (prices, discount = 0) => prices.slice(1).reduce((sum, price) => sum + price, 0) * (1 - discount);

exports.label = (amount, currency = 'EUR') => `${amount.toFixed(1)} ${currency}`;

exports.cheapest = (prices) => ({ price: Math.min(...prices), place: prices.length });
"""

FIX = """\
'use strict';

exports.total = (prices, discount = 0) => {
  if (discount < 0 || discount > 1) throw new RangeError(`a discount of ${discount} is not between 0 and 1`);
  return prices.reduce((sum, price) => sum + price, 0) * (1 - discount);
};

exports.label = (amount, currency = 'EUR') => `${amount.toFixed(2)} ${currency}`;

exports.cheapest = (prices) => {
  const price = Math.min(...prices);
  return { price, place: prices.indexOf(price) };
};
"""

BASE = {
    "package.json": '{"name": "prices", "version": "1.0.0"}\n',
    "test/prices.test.cjs": """\
const { test } = require('node:test');
const assert = require('node:assert/strict');
const { total } = require('../lib/prices.cjs');

test('nothing to pay', () => {
  assert.equal(total([]), 0);
});
""",
}

HIDDEN = {
    "test/prices.test.cjs": """\
const { describe, it, test } = require('node:test');
const assert = require('node:assert/strict');
const { cheapest, label, total } = require('../lib/prices.cjs');

test('nothing to pay', () => {
  assert.equal(total([]), 0);
});

describe('prices', () => {
  it('adds all of them', () => {
    assert.equal(total([4, 5]), 9);
    assert.strictEqual(total([10, 20], 0.5), 15);
  });

  it('labels', () => {
    assert.equal(label(3), '3.00 EUR');
  });

  it('finds the cheapest', () => {
    assert.deepEqual(cheapest([5, 2, 9]), { price: 2, place: 1 });
  });

  it('refuses discounts', () => {
    assert.throws(() => total([1], 2), RangeError);
  });
});
""",
}

_FILE = "test/prices.test.cjs::"
FAIL_TO_PASS = tuple(
    f"{_FILE}prices > {name}" for name in ("adds all of them", "labels", "finds the cheapest", "refuses discounts")
)
PASS_TO_PASS = (f"{_FILE}nothing to pay",)
