/** Make tabs out of the list of links and the sections in `root`. */
export function mountTabs(root, { onChange = () => {} } = {}) {
  throw new Error('not implemented');
}
