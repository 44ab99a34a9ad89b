import { readFileSync } from 'node:fs';
import { Window } from 'happy-dom';

const read = (file) => readFileSync(new URL(`../${file}`, import.meta.url), 'utf8');

/** Open a page of the repository with its style, in a window of that width and on that device. */
export function open(html, css, { width = 1200, ...device } = {}) {
  const window = new Window({ width, height: 900, settings: { device, disableCSSFileLoading: true, handleDisabledFileLoadingAsSuccess: true } });
  const { document } = window;
  Object.assign(globalThis, { window, document, location: window.location, CSS: window.CSS, HTMLElement: window.HTMLElement });
  document.write(read(html));
  if (css) {
    const sheet = document.createElement('style');
    sheet.textContent = read(css);
    document.head.append(sheet);
  }
  const find = (selector) => document.querySelector(selector);
  const style = (selector, property) => window.getComputedStyle(find(selector)).getPropertyValue(property);
  return { window, document, find, style };
}
