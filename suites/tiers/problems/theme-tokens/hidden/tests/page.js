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

/** Return red, green and blue of a colour, from 0 to 255. */
export function rgb(colour) {
  const hex = /^#([0-9a-f]{3,8})$/i.exec(colour);
  if (hex) {
    const digits = hex[1].length < 6 ? [...hex[1]].map((digit) => digit + digit).join('') : hex[1];
    return [0, 2, 4].map((place) => parseInt(digits.slice(place, place + 2), 16));
  }
  const named = { white: [255, 255, 255], black: [0, 0, 0] }[colour];
  const numbers = named ?? (colour.match(/[\d.]+/g) ?? []).slice(0, 3).map(Number);
  if (numbers.length !== 3) throw new Error(`${colour} is no colour that is known here`);
  return numbers;
}

/** Return the contrast of two colours as WCAG defines it. */
export function contrast(one, other) {
  const [low, high] = [one, other].map((colour) => {
    const [red, green, blue] = rgb(colour).map((part) => (part / 255 <= 0.04045 ? part / 255 / 12.92 : ((part / 255 + 0.055) / 1.055) ** 2.4));
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
  }).sort((a, b) => a - b);
  return (high + 0.05) / (low + 0.05);
}
