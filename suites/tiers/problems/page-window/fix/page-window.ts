/** A page's number, or the mark for pages that are left out. */
export type Link = number | '…';

/** Return the page links that a list of `pages` pages shows on page `current`. */
export function pageWindow(current: number, pages: number, around = 1): Link[] {
  if (![pages, around].every((value) => Number.isInteger(value) && value >= 0)) {
    throw new RangeError('pages and around must be whole numbers from 0 on');
  }
  const here = Math.min(Math.max(current, 1), pages);
  const links: Link[] = [];
  let last = 0;
  for (let page = 1; page <= pages; page += 1) {
    if (page > here + around) page = pages;
    else if (page > 1 && page < here - around) page = here - around;
    if (page === last + 2) links.push(last + 1);
    else if (page > last + 2) links.push('…');
    links.push(page);
    last = page;
  }
  return links;
}
