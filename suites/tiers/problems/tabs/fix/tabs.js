/** Make tabs out of the list of links and the sections in `root`. */
export function mountTabs(root, { onChange = () => {} } = {}) {
  const { location } = root.ownerDocument.defaultView;
  const list = root.querySelector('ul');
  const sections = new Map([...root.querySelectorAll('section')].map((section) => [section.id, section]));
  const tabs = [...(list?.querySelectorAll('a') ?? [])]
    .filter((link) => link.getAttribute('href')?.startsWith('#'))
    .map((link) => ({ link, id: link.getAttribute('href').slice(1) }))
    .filter(({ id }) => sections.has(id))
    .map((tab) => ({ ...tab, section: sections.get(tab.id) }));
  const before = [];
  let selected = null;

  const set = (element, name, value) => {
    before.push([element, name, element.getAttribute(name)]);
    if (value === null) element.removeAttribute(name);
    else element.setAttribute(name, value);
  };
  const enabled = () => tabs.filter(({ link }) => link.getAttribute('aria-disabled') !== 'true');

  const show = (tab) => {
    selected = tab;
    for (const { link, section, id } of tabs) {
      link.setAttribute('aria-selected', String(id === tab?.id));
      link.setAttribute('tabindex', id === tab?.id ? '0' : '-1');
      section.toggleAttribute('hidden', id !== tab?.id);
    }
  };
  const choose = (tab) => {
    if (tab === selected) return;
    show(tab);
    onChange(tab.id);
  };

  const click = (event) => {
    const tab = tabs.find(({ link }) => link.contains(event.target));
    if (!tab) return;
    event.preventDefault();
    if (enabled().includes(tab)) choose(tab);
  };

  const key = (event) => {
    const at = tabs.findIndex(({ link }) => link.contains(event.target));
    if (at < 0 || event.ctrlKey || event.altKey || event.metaKey) return;
    const vertical = list.getAttribute('aria-orientation') === 'vertical';
    const turned = root.closest('[dir]')?.getAttribute('dir') === 'rtl';
    const forward = vertical ? 'ArrowDown' : turned ? 'ArrowLeft' : 'ArrowRight';
    const back = vertical ? 'ArrowUp' : turned ? 'ArrowRight' : 'ArrowLeft';
    const able = enabled();
    const after = [...tabs.slice(at + 1), ...tabs.slice(0, at)].filter((tab) => able.includes(tab));
    const next = { [forward]: after[0], [back]: after.at(-1), Home: able[0], End: able.at(-1) }[event.key];
    if (!next) return;
    event.preventDefault();
    choose(next);
    next.link.focus();
  };

  if (tabs.length > 0) {
    set(list, 'role', 'tablist');
    for (const item of list.querySelectorAll('li')) set(item, 'role', 'presentation');
    for (const { link, section, id } of tabs) {
      if (!link.id) set(link, 'id', `tab-${id}`);
      set(link, 'role', 'tab');
      set(link, 'aria-controls', id);
      set(section, 'role', 'tabpanel');
      set(section, 'aria-labelledby', link.id);
      for (const name of ['aria-selected', 'tabindex']) set(link, name, link.getAttribute(name));
      set(section, 'hidden', section.getAttribute('hidden'));
      set(section, 'tabindex', '0');
    }
    const named = enabled().find(({ id }) => `#${id}` === location.hash);
    show(named ?? enabled()[0] ?? null);
    list.addEventListener('click', click);
    list.addEventListener('keydown', key);
  }

  return {
    select(id) {
      const tab = enabled().find((each) => each.id === id);
      if (!tab) throw new RangeError(`there is no tab ${id}`);
      choose(tab);
    },
    destroy() {
      list?.removeEventListener('click', click);
      list?.removeEventListener('keydown', key);
      for (const [element, name, value] of before.reverse()) {
        if (value === null || name === 'hidden') element.removeAttribute(name);
        else element.setAttribute(name, value);
      }
      before.length = 0;
    },
  };
}
