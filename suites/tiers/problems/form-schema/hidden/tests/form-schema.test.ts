import assert from 'node:assert/strict';
import { test } from 'node:test';
import { check } from '../form-schema.ts';

const object = (fields: Record<string, any>, more = {}) => ({ type: 'object', fields, ...more });
const value = (schema: any, input: unknown) => check(object({ x: schema }), { x: input });
const good = (schema: any, input: unknown, expected: unknown) => assert.deepEqual(value(schema, input), { ok: true, value: { x: expected } });
const bad = (schema: any, input: unknown, message: string) => assert.deepEqual(value(schema, input), { ok: false, errors: { x: message } });

test('an order', () => {
  const schema = object({
    name: { type: 'text', min: 2 },
    address: object({ zip: { type: 'text', pattern: /\d{5}/ } }),
    tags: { type: 'list', of: { type: 'text' } },
    count: { type: 'number', whole: true },
    gift: { type: 'flag' },
    size: { type: 'choice', of: ['s', 'm'] },
    day: { type: 'date' },
  });
  const input = { name: ' Ann ', address: { zip: '12345' }, tags: ['a', ' b'], count: '3', gift: 'on', size: 'm', day: '2024-02-29' };
  const expected = { name: 'Ann', address: { zip: '12345' }, tags: ['a', 'b'], count: 3, gift: true, size: 'm', day: '2024-02-29' };
  assert.deepEqual(check(schema, input), { ok: true, value: expected });
  assert.equal(input.name, ' Ann ');
});

test('all errors are reported', () => {
  const schema = object({ a: { type: 'text' }, b: object({ c: { type: 'number' } }), d: { type: 'list', of: { type: 'number' } } });
  assert.deepEqual(check(schema, { b: { c: 'x' }, d: [1, 'y', 2, {}] }), {
    ok: false,
    errors: { a: 'required', 'b.c': 'wrong type', 'd[1]': 'wrong type', 'd[3]': 'wrong type' },
  });
});

test('lengths of texts', () => {
  good({ type: 'text', min: 2, max: 3 }, ' ab ', 'ab');
  bad({ type: 'text', min: 2 }, 'a  ', 'too short');
  bad({ type: 'text', max: 3 }, 'abcd', 'too long');
});

test('lengths count code points', () => {
  good({ type: 'text', max: 2 }, '👍🏽', '👍🏽');
  bad({ type: 'text', min: 2 }, '👍', 'too short');
});

test('patterns match the whole text', () => {
  good({ type: 'text', pattern: /a|bc/ }, 'bc', 'bc');
  bad({ type: 'text', pattern: /a|bc/ }, 'abc', 'wrong format');
  good({ type: 'text', pattern: /[a-z]+/i }, 'ABC', 'ABC');
  bad({ type: 'text', pattern: /a/m }, 'a\nb', 'wrong format');
});

test('patterns keep no place between calls', () => {
  const schema = { type: 'text', pattern: /ab/gy };
  for (let turn = 0; turn < 3; turn += 1) good(schema, 'ab', 'ab');
});

test('numbers', () => {
  good({ type: 'number' }, ' -1.50 ', -1.5);
  good({ type: 'number', min: 0 }, 0, 0);
  bad({ type: 'number', min: 1 }, '0', 'too small');
  bad({ type: 'number', max: 1 }, 1.5, 'too large');
  bad({ type: 'number', whole: true }, '1.5', 'not whole');
  bad({ type: 'number', max: 1, whole: true }, 1.5, 'too large');
});

test('what is no number', () => {
  for (const input of ['1e3', '0x10', '1.', '.5', '+1', 'Infinity', '1,5', NaN, Infinity, true, []]) bad({ type: 'number' }, input, 'wrong type');
});

test('flags', () => {
  for (const input of [true, 'on', 'true']) good({ type: 'flag' }, input, true);
  for (const input of [false, 'off', 'false', undefined, null, '']) good({ type: 'flag' }, input, false);
  for (const input of [1, 'yes', 'True']) bad({ type: 'flag' }, input, 'wrong type');
});

test('choices', () => {
  good({ type: 'choice', of: ['s', 'm'] }, 's', 's');
  bad({ type: 'choice', of: ['s', 'm'] }, 'l', 'unknown choice');
  bad({ type: 'choice', of: ['1'] }, 1, 'wrong type');
});

test('dates', () => {
  good({ type: 'date', min: '2024-01-01', max: '2024-01-31' }, '2024-01-31', '2024-01-31');
  bad({ type: 'date', min: '2024-01-01' }, '2023-12-31', 'too early');
  bad({ type: 'date', max: '2024-01-31' }, '2024-02-01', 'too late');
  for (const input of ['2023-02-29', '2024-13-01', '2024-00-10', '2024-04-31', '24-01-01', '2024-1-1', 20240101]) bad({ type: 'date' }, input, 'wrong type');
  good({ type: 'date' }, '0099-12-31', '0099-12-31');
});

test('what is missing', () => {
  for (const input of [undefined, null, '', '  ']) {
    bad({ type: 'text' }, input, 'required');
    good({ type: 'number', default: 7, min: 9 }, input, 7);
    assert.deepEqual(value({ type: 'text', optional: true }, input), { ok: true, value: {} });
  }
});

test('a default can be anything', () => {
  good({ type: 'text', default: null }, undefined, null);
  good({ type: 'flag', default: true }, undefined, true);
  good({ type: 'text', default: 'x' }, 'y', 'y');
});

test('lists', () => {
  const list = { type: 'list', of: { type: 'number' }, min: 1, max: 2 };
  good(list, ['1', 2], [1, 2]);
  bad(list, [], 'too few');
  bad(list, ['x', 2, 3], 'too many');
  bad(list, { length: 1 }, 'wrong type');
});

test('repeated entries', () => {
  const list = { type: 'list', unique: true, of: { type: 'text' } };
  assert.deepEqual(value(list, ['a', 'b', ' a', 'b']), { ok: false, errors: { 'x[2]': 'repeated', 'x[3]': 'repeated' } });
  const objects = { type: 'list', unique: true, of: object({ a: { type: 'number' }, b: { type: 'number' } }) };
  assert.deepEqual(value(objects, [{ a: 1, b: 2 }, { b: '2', a: 1 }]), { ok: false, errors: { 'x[1]': 'repeated' } });
});

test('missing entries', () => {
  assert.deepEqual(value({ type: 'list', of: { type: 'text' } }, ['a', '']), { ok: false, errors: { 'x[1]': 'required' } });
  assert.deepEqual(value({ type: 'list', of: { type: 'number', optional: true } }, ['', 5, 'x']), { ok: false, errors: { 'x[2]': 'wrong type' } });
  good({ type: 'list', of: { type: 'number', optional: true } }, ['', 5, null], [5]);
});

test('fields that must be the same', () => {
  const schema = object({ one: { type: 'text' }, two: { type: 'text' } }, { same: ['one', 'two'] });
  assert.deepEqual(check(schema, { one: 'a ', two: 'a' }), { ok: true, value: { one: 'a', two: 'a' } });
  assert.deepEqual(check(schema, { one: 'a', two: 'b' }), { ok: false, errors: { two: 'differs' } });
  assert.deepEqual(check(schema, { one: 'a' }), { ok: false, errors: { two: 'required' } });
});

test('unknown fields', () => {
  const schema = object({ a: object({}) });
  assert.deepEqual(check(schema, { a: { b: 1 }, c: undefined }), { ok: false, errors: { 'a.b': 'unknown field', c: 'unknown field' } });
});

test('names of the prototype are names like others', () => {
  assert.deepEqual(check(object({ constructor: { type: 'text' } }), {}), { ok: false, errors: { constructor: 'required' } });
  const sent = JSON.parse('{"__proto__": {"admin": true}}');
  assert.deepEqual(Object.entries((check(object({}), sent) as any).errors), [['__proto__', 'unknown field']]);
  assert.equal(({} as any).admin, undefined);
});

test('the input itself', () => {
  for (const input of [[], 'x', 5, new Date(0), new Map()]) assert.deepEqual(check(object({}), input), { ok: false, errors: { '': 'wrong type' } });
  assert.deepEqual(check(object({}), null), { ok: false, errors: { '': 'required' } });
});
