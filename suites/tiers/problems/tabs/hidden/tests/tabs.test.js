import assert from 'node:assert/strict';
import { test } from 'node:test';
import { mountTabs } from '../tabs.js';
import { open } from './page.js';

function mounted({ hash = '', prepare = () => {}, root = '.tabs' } = {}) {
  const { window, document, find } = open('page.html');
  window.location.hash = hash;
  prepare(document);
  const changes = [];
  const tabs = mountTabs(find(root), { onChange: (id) => changes.push(id) });
  const link = (id) => find(`${root} a[href="#${id}"]`);
  const press = (id, key, more = {}) => {
    const event = new window.KeyboardEvent('keydown', { key, bubbles: true, cancelable: true, ...more });
    link(id).dispatchEvent(event);
    return event.defaultPrevented;
  };
  const click = (id) => {
    const event = new window.MouseEvent('click', { bubbles: true, cancelable: true });
    link(id).dispatchEvent(event);
    return event.defaultPrevented;
  };
  const selected = () => [...document.querySelectorAll(`${root} [aria-selected="true"]`)].map((each) => each.getAttribute('href').slice(1));
  const shown = () => [...document.querySelectorAll(`${root} section:not([hidden])`)].map((section) => section.id);
  return { window, document, find, tabs, changes, link, press, click, selected, shown };
}

test('roles', () => {
  const { find, document } = mounted();
  assert.equal(find('.tabs ul').getAttribute('role'), 'tablist');
  assert.equal(document.querySelectorAll('.tabs [role="presentation"]').length, 5);
  assert.deepEqual([...document.querySelectorAll('[role="tab"]')].map((tab) => tab.getAttribute('aria-controls')), ['general', 'mail', 'billing', 'team']);
  assert.deepEqual([...document.querySelectorAll('[role="tabpanel"]')].map((panel) => panel.getAttribute('aria-labelledby')), ['tab-general', 'to-mail', 'tab-billing', 'tab-team']);
});

test('the first tab is selected', () => {
  const { selected, shown, link, changes } = mounted();
  assert.deepEqual([selected(), shown(), changes], [['general'], ['general'], []]);
  assert.deepEqual(['general', 'mail', 'team'].map((id) => link(id).getAttribute('tabindex')), ['0', '-1', '-1']);
  assert.equal(link('mail').getAttribute('aria-selected'), 'false');
});

test('the address selects', () => {
  assert.deepEqual(mounted({ hash: '#team' }).selected(), ['team']);
  assert.deepEqual(mounted({ hash: '#billing' }).selected(), ['general']);
  assert.deepEqual(mounted({ hash: '#one' }).selected(), ['general']);
});

test('a first tab that is disabled is not selected', () => {
  const { selected } = mounted({ prepare: (document) => document.querySelector('a[href="#general"]').setAttribute('aria-disabled', 'true') });
  assert.deepEqual(selected(), ['mail']);
});

test('clicks', () => {
  const { click, selected, shown, changes } = mounted();
  assert.equal(click('mail'), true);
  assert.deepEqual([selected(), shown(), changes], [['mail'], ['mail'], ['mail']]);
  click('mail');
  assert.deepEqual(changes, ['mail']);
});

test('a disabled tab cannot be clicked', () => {
  const { click, selected, link, changes } = mounted();
  assert.equal(click('billing'), true);
  assert.deepEqual([selected(), changes], [['general'], []]);
  assert.equal(link('billing').getAttribute('tabindex'), '-1');
});

test('arrows', () => {
  const { press, selected, document, link } = mounted();
  assert.equal(press('general', 'ArrowRight'), true);
  assert.deepEqual(selected(), ['mail']);
  assert.equal(document.activeElement, link('mail'));
  press('mail', 'ArrowRight');
  assert.deepEqual(selected(), ['team']);
  press('team', 'ArrowRight');
  assert.deepEqual(selected(), ['general']);
  press('general', 'ArrowLeft');
  assert.deepEqual(selected(), ['team']);
  press('team', 'ArrowLeft');
  assert.deepEqual(selected(), ['mail']);
});

test('home and end', () => {
  const { press, selected } = mounted();
  assert.equal(press('general', 'End'), true);
  assert.deepEqual(selected(), ['team']);
  press('team', 'Home');
  assert.deepEqual(selected(), ['general']);
});

test('home and end pass over disabled tabs', () => {
  const disable = (document) => ['general', 'team'].forEach((id) => document.querySelector(`a[href="#${id}"]`).setAttribute('aria-disabled', 'true'));
  const { press, selected, document, link } = mounted({ prepare: disable });
  press('mail', 'End');
  assert.deepEqual(selected(), ['mail']);
  assert.equal(document.activeElement, link('mail'));
});

test('from right to left', () => {
  const { press, selected } = mounted({ prepare: (document) => document.body.setAttribute('dir', 'rtl') });
  press('general', 'ArrowLeft');
  assert.deepEqual(selected(), ['mail']);
  press('mail', 'ArrowRight');
  assert.deepEqual(selected(), ['general']);
});

test('the nearest direction counts', () => {
  const prepare = (document) => { document.body.setAttribute('dir', 'rtl'); document.querySelector('.tabs').setAttribute('dir', 'ltr'); };
  const { press, selected } = mounted({ prepare });
  press('general', 'ArrowRight');
  assert.deepEqual(selected(), ['mail']);
});

test('vertical tabs', () => {
  const { press, selected } = mounted({ prepare: (document) => document.querySelector('.tabs ul').setAttribute('aria-orientation', 'vertical') });
  assert.equal(press('general', 'ArrowRight'), false);
  assert.deepEqual(selected(), ['general']);
  assert.equal(press('general', 'ArrowDown'), true);
  assert.deepEqual(selected(), ['mail']);
  press('mail', 'ArrowUp');
  assert.deepEqual(selected(), ['general']);
});

test('other keys do nothing', () => {
  const { press, selected } = mounted();
  for (const [key, more] of [['ArrowDown', {}], ['Enter', {}], ['x', {}], ['ArrowRight', { ctrlKey: true }], ['End', { altKey: true }], ['End', { metaKey: true }]]) {
    assert.equal(press('general', key, more), false);
  }
  assert.deepEqual(selected(), ['general']);
});

test('links that are no tabs', () => {
  const { find, window } = mounted();
  const help = find('a[href="/help"]');
  const event = new window.KeyboardEvent('keydown', { key: 'ArrowRight', bubbles: true, cancelable: true });
  help.dispatchEvent(event);
  assert.equal(event.defaultPrevented, false);
  assert.deepEqual(help.getAttributeNames(), ['href']);
});

test('select', () => {
  const { tabs, selected, changes, document, find } = mounted();
  find('.more a').focus();
  tabs.select('team');
  tabs.select('team');
  assert.deepEqual([selected(), changes], [['team'], ['team']]);
  assert.equal(document.activeElement, find('.more a'));
  for (const id of ['billing', 'one', 'none']) assert.throws(() => tabs.select(id), RangeError);
});

test('two roots', () => {
  const { find, document, selected, changes } = mounted();
  mountTabs(find('.more'));
  assert.deepEqual([...document.querySelectorAll('.more [role="tab"]')].map((tab) => tab.textContent), ['One', 'Two']);
  find('.more a[href="#two"]').click();
  assert.deepEqual([selected(), changes, find('#one').hidden, find('#two').hidden], [['general'], [], true, false]);
});

test('destroy', () => {
  const { document } = open('page.html');
  document.querySelector('#to-mail').setAttribute('tabindex', '3');
  const root = document.querySelector('.tabs');
  const before = root.outerHTML;
  const tabs = mountTabs(root);
  tabs.select('mail');
  assert.notEqual(root.outerHTML, before);
  tabs.destroy();
  assert.equal(root.outerHTML, before);
});

test('nothing reacts after destroy', () => {
  const { tabs, press, changes } = mounted();
  tabs.destroy();
  assert.equal(press('general', 'ArrowRight'), false);
  assert.deepEqual(changes, []);
});

test('a root without tabs', () => {
  const { document } = open('page.html');
  const root = document.createElement('div');
  root.innerHTML = '<ul><li><a href="#x">X</a></li></ul>';
  const tabs = mountTabs(root);
  assert.equal(root.innerHTML, '<ul><li><a href="#x">X</a></li></ul>');
  assert.throws(() => tabs.select('x'), RangeError);
});
