import { readFileSync } from 'node:fs';
import { Window } from 'happy-dom';

const read = (file) => readFileSync(new URL(`../${file}`, import.meta.url), 'utf8');

/** Return the rules with one selector each: the library takes the weight of a group's first one that matches. */
function ungrouped(rules) {
  const texts = [...rules].map((rule) => {
    if (rule.media) return `@media ${rule.conditionText} {\n${ungrouped(rule.cssRules)}\n}`;
    if (!rule.selectorText) return rule.cssText;
    return rule.selectorText.split(/,(?![^(]*\))/).map((selector) => `${selector.trim()} { ${rule.style.cssText} }`).join('\n');
  });
  return texts.join('\n');
}

/** Open a page of the repository with its style, in a window of that width and on that device. */
export function open(html, css, { width = 1200, ...device } = {}) {
  const window = new Window({ width, height: 900, settings: { device, disableCSSFileLoading: true, handleDisabledFileLoadingAsSuccess: true } });
  const { document } = window;
  document.write(read(html));
  if (css) {
    const sheet = document.createElement('style');
    sheet.textContent = read(css);
    document.head.append(sheet);
    sheet.textContent = ungrouped(sheet.sheet.cssRules);
  }
  const find = (selector) => document.querySelector(selector);
  const style = (selector, property) => window.getComputedStyle(find(selector)).getPropertyValue(property);
  return { window, document, find, style };
}

/** Return a length in pixels. */
export function pixels(length) {
  const found = /^(-?[\d.]+)(px|rem|em)?$/.exec(length);
  if (!found) throw new Error(`${length} is no length`);
  return Number(found[1]) * (found[2] && found[2] !== 'px' ? 16 : 1);
}

/** Return how many columns a grid has. */
export function columns(tracks) {
  const repeated = /^repeat\(\s*(\d+)\s*,/.exec(tracks);
  return repeated ? Number(repeated[1]) : tracks.replace(/\([^)]*\)/g, '').trim().split(/\s+/).length;
}
