import assert from 'node:assert/strict';
import { test } from 'node:test';
import { History } from '../undo-history.ts';

const add = (text: string) => ({
  label: `add ${text}`,
  text,
  apply: (state: string) => state + text,
  revert: (state: string) => state.slice(0, -text.length),
});
const merge = (one: any, other: any) => (other.text === ' ' ? null : add(one.text + other.text));
const broken = { label: 'broken', apply: () => { throw new Error('apply'); }, revert: (state: string) => state };

/** Return a history in which these letters were added, long after each other. */
function typed(letters: string, options = {}): any {
  const history = new History('', options);
  [...letters].forEach((letter, place) => history.do(add(letter), place * 10_000));
  return history;
}

test('undo and redo', () => {
  const history = typed('abc');
  assert.equal(history.state, 'abc');
  assert.equal(history.undo(), 'add c');
  assert.equal(history.undo(), 'add b');
  assert.equal(history.state, 'a');
  assert.equal(history.redo(), 'add b');
  assert.equal(history.state, 'ab');
});

test('labels', () => {
  const history = typed('ab');
  history.undo();
  assert.deepEqual([history.undoLabel, history.redoLabel], ['add a', 'add b']);
});

test('nothing to undo or redo', () => {
  const history = typed('');
  assert.deepEqual([history.undo(), history.redo(), history.undoLabel, history.redoLabel], [null, null, null, null]);
});

test('a new change forgets what could be redone', () => {
  const history = typed('ab');
  history.undo();
  history.do(add('x'), 90_000);
  assert.equal(history.redo(), null);
  assert.equal(history.state, 'ax');
});

test('the limit', () => {
  const history = typed('abcd', { limit: 2 });
  assert.deepEqual([history.undo(), history.undo(), history.undo()], ['add d', 'add c', null]);
  assert.equal(history.state, 'ab');
});

test('changes that come fast are merged', () => {
  const history: any = new History('', { merge });
  for (const [letter, at] of [['a', 0], ['b', 500], ['c', 1000], ['d', 1501]] as const) history.do(add(letter), at);
  assert.equal(history.undo(), 'add d');
  assert.equal(history.undo(), 'add abc');
  assert.equal(history.state, '');
});

test('merge can refuse', () => {
  const history: any = new History('', { merge });
  for (const letter of ['a', ' ', 'b']) history.do(add(letter), 0);
  assert.deepEqual([history.undo(), history.undo()], ['add  b', 'add a']);
});

test('nothing is merged when the time goes backwards', () => {
  const history: any = new History('', { merge });
  history.do(add('a'), 100);
  history.do(add('b'), 99);
  assert.equal(history.undo(), 'add b');
});

test('nothing is merged over undo and redo', () => {
  const history: any = new History('', { merge });
  history.do(add('a'), 0);
  history.undo();
  history.redo();
  history.do(add('b'), 1);
  assert.equal(history.undo(), 'add b');
});

test('nothing is merged over a save', () => {
  const history: any = new History('', { merge });
  history.do(add('a'), 0);
  history.save();
  history.do(add('b'), 1);
  history.undo();
  assert.deepEqual([history.state, history.dirty], ['a', false]);
});

test('a group is one change', () => {
  const history = typed('a');
  history.begin('paste');
  history.do(add('b'), 1);
  history.begin('inner');
  history.do(add('c'), 2);
  history.end();
  history.end();
  assert.equal(history.undo(), 'paste');
  assert.equal(history.state, 'a');
  history.redo();
  assert.equal(history.state, 'abc');
});

test('nothing is merged over the ends of a group', () => {
  const history: any = new History('', { merge });
  history.do(add('a'), 0);
  history.begin('group');
  history.do(add('b'), 1);
  history.end();
  history.do(add('c'), 2);
  assert.deepEqual([history.undo(), history.undo(), history.undo()], ['add c', 'group', 'add a']);
});

test('an empty group leaves nothing', () => {
  const history = typed('ab');
  history.undo();
  history.begin('empty');
  history.end();
  assert.deepEqual([history.undoLabel, history.redoLabel], ['add a', 'add b']);
});

test('a cancelled group', () => {
  const history = typed('ab');
  history.undo();
  history.begin('group');
  history.do(add('x'), 1);
  history.begin('inner');
  history.do(add('y'), 2);
  history.cancel();
  assert.deepEqual([history.state, history.undoLabel, history.redoLabel], ['a', 'add a', 'add b']);
  history.redo();
  assert.equal(history.state, 'ab');
});

test('what is not possible in and without a group', () => {
  const history = typed('a');
  assert.throws(() => history.end(), Error);
  assert.throws(() => history.cancel(), Error);
  history.begin('group');
  assert.throws(() => history.undo(), Error);
  assert.throws(() => history.redo(), Error);
  history.end();
  assert.equal(history.undo(), 'add a');
});

test('a change that throws changes nothing', () => {
  const history = typed('ab');
  history.undo();
  assert.throws(() => history.do(broken, 0), /apply/);
  assert.deepEqual([history.state, history.undoLabel, history.redoLabel], ['a', 'add a', 'add b']);
});

test('an undo that throws in the middle of a group changes nothing', () => {
  const history = typed('a');
  let fails = true;
  history.begin('group');
  history.do({ ...add('b'), revert: (state: string) => { if (fails) throw new Error('revert'); return state.slice(0, -1); } }, 1);
  history.do(add('c'), 2);
  history.end();
  assert.throws(() => history.undo(), /revert/);
  assert.deepEqual([history.state, history.undoLabel, history.redoLabel], ['abc', 'group', null]);
  fails = false;
  history.undo();
  assert.equal(history.state, 'a');
});

test('what is saved is clean', () => {
  const history = typed('');
  assert.equal(history.dirty, false);
  history.do(add('a'), 0);
  assert.equal(history.dirty, true);
  history.save();
  history.do(add('b'), 10_000);
  history.undo();
  assert.equal(history.dirty, false);
  history.undo();
  assert.equal(history.dirty, true);
  history.redo();
  assert.equal(history.dirty, false);
});

test('a saved place that was forgotten is never reached again', () => {
  const history = typed('ab');
  history.save();
  history.undo();
  history.do(add('b'), 90_000);
  assert.deepEqual([history.state, history.dirty], ['ab', true]);
  history.undo();
  assert.equal(history.dirty, true);
});

test('a saved place beyond the limit', () => {
  const history = typed('', { limit: 1 });
  history.do(add('a'), 0);
  assert.equal(history.undo(), 'add a');
  assert.equal(history.dirty, false);
  for (const letter of 'bc') history.do(add(letter), 90_000);
  history.undo();
  assert.deepEqual([history.state, history.dirty], ['b', true]);
});

test('listeners', () => {
  const history = typed('');
  const calls: string[] = [];
  const stop = history.subscribe(() => calls.push(history.state));
  history.do(add('a'), 0);
  history.begin('group');
  history.do(add('b'), 1);
  history.do(add('c'), 2);
  history.end();
  history.undo();
  history.undo();
  history.undo();
  history.redo();
  stop();
  history.redo();
  assert.deepEqual(calls, ['a', 'abc', 'a', '', 'a']);
});

test('a listener can end itself', () => {
  const history = typed('');
  const calls: string[] = [];
  const stop = history.subscribe(() => { calls.push('one'); stop(); });
  history.subscribe(() => calls.push('two'));
  history.do(add('a'), 0);
  history.do(add('b'), 10_000);
  assert.deepEqual(calls, ['one', 'two', 'two']);
});
