import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { columns, open, pixels } from './page.js';

const page = (width, device = {}) => open('cards.html', 'cards.css', { width, ...device });

for (const [width, count, gap] of [[320, 1, 16], [599, 1, 16], [600, 2, 16], [999, 2, 16], [1000, 4, 24], [1900, 4, 24]]) {
  test(`columns at ${width}px`, () => {
    const { style } = page(width);
    assert.equal(style('.cards', 'display'), 'grid');
    assert.equal(columns(style('.cards', 'grid-template-columns')), count);
    assert.equal(pixels(style('.cards', 'gap').split(' ')[0]), gap);
  });
}

for (const [width, spans] of [[599, false], [600, true], [1000, true]]) {
  test(`the featured card at ${width}px`, () => {
    const { style } = page(width);
    const span = (card) => ['', '-start', '-end'].some((side) => /^span 2( \/ (auto|span 2))?$/.test(style(card, `grid-column${side}`)));
    assert.equal(span('#featured'), spans);
    assert.equal(span('#plain'), false);
  });
}

for (const [width, closed, opened] of [[599, 'none', 'block'], [600, 'block', 'block'], [1200, 'block', 'block']]) {
  test(`the filters at ${width}px`, () => {
    const { style, find } = page(width);
    assert.equal(style('.filters', 'display'), closed);
    find('.filters').classList.add('is-open');
    assert.equal(style('.filters', 'display'), opened);
  });
}

test('the filters stay in sight', () => {
  const { style } = page(1000);
  assert.equal(style('.filters', 'position'), 'sticky');
  assert.equal(pixels(style('.filters', 'top')), 16);
  assert.notEqual(page(999).style('.filters', 'position'), 'sticky');
});

for (const [width, direction] of [[599, /^column$/], [600, /^(row)?$/], [1000, /^(row)?$/]]) {
  test(`the toolbar at ${width}px`, () => {
    const { style } = page(width);
    assert.equal(style('.toolbar', 'display'), 'flex');
    assert.match(style('.toolbar', 'flex-direction') || style('.toolbar', 'flex-flow').split(' ')[0], direction);
  });
}

test('a card', () => {
  const { style } = page(600);
  for (const side of ['top', 'right', 'bottom', 'left']) assert.equal(pixels(style('#plain', `padding-${side}`)), 16);
  assert.equal(pixels(style('#plain', 'min-width')), 0);
});

test('pictures', () => {
  const { style } = page(600);
  assert.equal(style('.card img', 'display'), 'block');
  assert.equal(style('.card img', 'width'), '100%');
  assert.equal(style('.card img', 'aspect-ratio').replaceAll(' ', ''), '16/9');
  assert.equal(style('.card img', 'object-fit'), 'cover');
});

test('titles', () => {
  const { style } = page(600);
  assert.equal(style('#plain .card__title', 'overflow'), 'hidden');
  assert.equal(style('#plain .card__title', 'text-overflow'), 'ellipsis');
  assert.equal(style('#plain .card__title', 'white-space'), 'nowrap');
  assert.notEqual(style('#featured .card__title', 'white-space'), 'nowrap');
});

test('what is sold out', () => {
  const { style } = page(600);
  assert.equal(Number(style('#gone', 'opacity')), 0.5);
  assert.equal(style('#gone', 'pointer-events'), 'none');
  const decoration = (card) => style(`${card} .card__price`, 'text-decoration') + style(`${card} .card__price`, 'text-decoration-line');
  assert.match(decoration('#gone'), /line-through/);
  assert.doesNotMatch(decoration('#plain'), /line-through/);
});

test('motion', () => {
  assert.match(page(600).style('.card', 'transition'), /\d/);
  assert.match(page(600, { prefersReducedMotion: 'reduce' }).style('.card', 'transition'), /^none/);
});

for (const width of [400, 800, 1200]) {
  test(`printed at ${width}px`, () => {
    const { style, find } = page(width, { mediaType: 'print' });
    assert.equal(style('.toolbar', 'display'), 'none');
    find('.filters').classList.add('is-open');
    assert.equal(style('.filters', 'display'), 'none');
    assert.equal(columns(style('.cards', 'grid-template-columns')), 2);
  });
}

test('nothing else is important', () => {
  const css = readFileSync(new URL('../cards.css', import.meta.url), 'utf8');
  const { document } = open('cards.html', 'cards.css');
  const rules = [...document.styleSheets].flatMap((sheet) => [...sheet.cssRules]);
  const plain = rules.filter((rule) => !/print|reduced-motion/.test(rule.conditionText ?? rule.media?.mediaText ?? ''));
  assert.ok(plain.length > 8);
  assert.ok(plain.every((rule) => !rule.cssText.includes('!important')));
  assert.ok(css.includes('@media'));
});
