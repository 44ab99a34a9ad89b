import assert from 'node:assert/strict';
import { test } from 'node:test';
import { contrast, open, rgb } from './page.js';

const THEMES = { light: ['light', null], dark: ['dark', null], 'light against the system': ['dark', 'light'], 'dark against the system': ['light', 'dark'] };

function page(system = 'light', theme = null, more = false) {
  const opened = open('app.html', 'theme.css', { prefersColorScheme: system });
  const { documentElement: root } = opened.document;
  if (theme) root.dataset.theme = theme;
  if (more) root.dataset.contrast = 'more';
  const colour = (name) => opened.style('html', `--${name}`).trim();
  return { ...opened, colour };
}

const isLight = ({ colour }) => {
  const [background, text] = ['background', 'text'].map((name) => contrast(colour(name), '#000000'));
  return background > text;
};
const PAIRS = [['text', 'background'], ['text', 'surface'], ['muted', 'background'], ['muted', 'surface'], ['on-accent', 'accent'], ['on-danger', 'danger']];

for (const [name, [system, theme]] of Object.entries(THEMES)) {
  const expected = name.split(' ')[0];

  test(`${name}: the theme`, () => {
    const opened = page(system, theme);
    assert.equal(isLight(opened), expected === 'light');
    assert.equal(opened.style('html', 'color-scheme'), expected);
    assert.notDeepEqual(rgb(opened.colour('surface')), rgb(opened.colour('background')));
  });

  for (const [more, least] of [[false, 4.5], [true, 7]]) {
    test(`${name}: contrast of ${least}`, () => {
      const { colour } = page(system, theme, more);
      assert.equal(isLight({ colour }), expected === 'light');
      for (const [one, other] of PAIRS) assert.ok(contrast(colour(one), colour(other)) >= least, `${one} on ${other}`);
    });
  }

  test(`${name}: elements have the colours`, () => {
    const { style, colour } = page(system, theme);
    const same = (selector, property, token) => assert.deepEqual(rgb(style(selector, property)), rgb(colour(token)), selector);
    same('body', 'background-color', 'background');
    same('body', 'color', 'text');
    same('.panel', 'background-color', 'surface');
    same('.hint', 'color', 'muted');
    same('#save', 'background-color', 'accent');
    same('#save', 'color', 'on-accent');
    same('#remove', 'background-color', 'danger');
    same('#remove', 'color', 'on-danger');
  });
}

for (const button of ['#off', '#denied']) {
  test(`${button} is disabled`, () => {
    const { style, colour } = page();
    assert.deepEqual(rgb(style(button, 'background-color')), rgb(colour('surface')));
    assert.deepEqual(rgb(style(button, 'color')), rgb(colour('muted')));
    assert.equal(style(button, 'cursor'), 'not-allowed');
  });
}

test('a button that is not disabled', () => {
  const { style, colour } = page();
  assert.deepEqual(rgb(style('#able', 'background-color')), rgb(colour('accent')));
  assert.notEqual(style('#able', 'cursor'), 'not-allowed');
});

for (const theme of ['light', 'dark']) {
  test(`colours within an element, ${theme}`, () => {
    const { style, colour } = page(theme);
    assert.deepEqual(rgb(style('#branded', 'background-color')), [0x12, 0x34, 0x56]);
    assert.deepEqual(rgb(style('#branded', 'color')), [0xfe, 0xdc, 0xba]);
    assert.deepEqual(rgb(style('#cancel', 'background-color')), rgb(colour('danger')));
  });
}

test('the focus can be seen', () => {
  const { document } = page();
  const rules = [...document.styleSheets].flatMap((sheet) => [...sheet.cssRules]).flatMap((rule) => [rule, ...(rule.cssRules ?? [])]);
  const outlines = rules.filter((rule) => rule.style?.outline);
  assert.ok(outlines.some((rule) => rule.selectorText.includes('.button:focus-visible')));
  for (const rule of outlines) assert.doesNotMatch(rule.style.outline, /^(none|0)\b/);
});
