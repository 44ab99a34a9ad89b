import assert from 'node:assert/strict';
import { test } from 'node:test';
import { pageWindow } from '../page-window.ts';

test('the middle', () => {
  assert.deepEqual(pageWindow(5, 10), [1, '…', 4, 5, 6, '…', 10]);
});

test('the first page', () => {
  assert.deepEqual(pageWindow(1, 10), [1, 2, '…', 10]);
});

test('the last page', () => {
  assert.deepEqual(pageWindow(10, 10), [1, '…', 9, 10]);
});

test('more around', () => {
  assert.deepEqual(pageWindow(6, 12, 2), [1, '…', 4, 5, 6, 7, 8, '…', 12]);
});

test('nothing around', () => {
  assert.deepEqual(pageWindow(5, 9, 0), [1, '…', 5, '…', 9]);
});

test('a single page is never left out', () => {
  assert.deepEqual(pageWindow(4, 10), [1, 2, 3, 4, 5, '…', 10]);
  assert.deepEqual(pageWindow(7, 10), [1, '…', 6, 7, 8, 9, 10]);
  assert.deepEqual(pageWindow(3, 5, 0), [1, 2, 3, 4, 5]);
});

test('few pages are all shown', () => {
  assert.deepEqual(pageWindow(1, 1), [1]);
  assert.deepEqual(pageWindow(2, 3), [1, 2, 3]);
});

test('no pages', () => {
  assert.deepEqual(pageWindow(1, 0), []);
});

test('a current page outside counts as the nearest', () => {
  assert.deepEqual(pageWindow(99, 10), [1, '…', 9, 10]);
  assert.deepEqual(pageWindow(-3, 10), [1, 2, '…', 10]);
});

test('numbers are checked', () => {
  for (const [pages, around] of [[-1, 1], [2.5, 1], [5, -1], [5, 0.5], [NaN, 1]]) {
    assert.throws(() => pageWindow(1, pages, around), RangeError);
  }
});

test('millions of pages take no loop over all of them', () => {
  assert.deepEqual(pageWindow(2_000_000_000, 4_000_000_000), [1, '…', 1_999_999_999, 2_000_000_000, 2_000_000_001, '…', 4_000_000_000]);
});
