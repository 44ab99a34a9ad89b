/** A page's number, or the mark for pages that are left out. */
export type Link = number | '…';

/** Return the page links that a list of `pages` pages shows on page `current`. */
export function pageWindow(current: number, pages: number, around = 1): Link[] {
  throw new Error('not implemented');
}
