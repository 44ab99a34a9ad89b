const TEXT = 0;
const CHECKED = 1;
const ANY = 2;
const REST = 3;

/** The routes of an application. */
export class Routes {
  #routes = new Map();

  constructor(table) {
    for (const { name, method, path, where = {} } of table) {
      if (this.#routes.has(name)) throw new RangeError(`two routes are called ${name}`);
      this.#routes.set(name, { name, method, parts: parse(path, where) });
    }
  }

  find(method, address) {
    const place = address.indexOf('?');
    const path = place < 0 ? address : address.slice(0, place);
    let given;
    try {
      given = path.slice(1).split('/').map(decodeURIComponent);
    } catch {
      return { status: 400 };
    }
    if (given.at(-1) === '') given.pop();
    const matching = [...this.#routes.values()].filter((route) => fits(route.parts, given));
    const methods = new Set(matching.map((route) => route.method));
    const wanted = method === 'HEAD' && !methods.has('HEAD') ? 'GET' : method;
    const best = matching.filter((route) => route.method === wanted).sort(compare)[0];
    if (best) {
      return { status: 200, name: best.name, params: values(best.parts, given), query: readQuery(place < 0 ? '' : address.slice(place + 1)) };
    }
    if (methods.size === 0) return { status: 404 };
    if (methods.has('GET')) methods.add('HEAD');
    return { status: 405, allow: [...methods].sort() };
  }

  address(name, params = {}, query = {}) {
    const route = this.#routes.get(name);
    if (!route) throw new RangeError(`no route is called ${name}`);
    const left = new Set(Object.keys(params));
    const parts = [];
    for (const part of route.parts) {
      if (part.kind === TEXT) {
        parts.push(encodeURIComponent(part.text));
        continue;
      }
      const value = Object.hasOwn(params, part.name) ? params[part.name] : undefined;
      left.delete(part.name);
      if (value === undefined && part.optional) continue;
      if (value === undefined || !takes(part, String(value))) throw new RangeError(`${name}: ${part.name} is wrong`);
      const texts = part.kind === REST ? String(value).split('/') : [String(value)];
      if (texts.includes('')) throw new RangeError(`${name}: ${part.name} is wrong`);
      parts.push(...texts.map(encodeURIComponent));
    }
    if (left.size > 0) throw new RangeError(`${name} has no ${[...left].join(', ')}`);
    const pairs = Object.entries(query).flatMap(([key, value]) => (Array.isArray(value) ? value : [value]).map((one) => [key, one]));
    const words = pairs.filter(([, value]) => value !== undefined).map((pair) => pair.map((one) => encodeURIComponent(one)).join('='));
    return `/${parts.join('/')}${words.length ? `?${words.join('&')}` : ''}`;
  }
}

function parse(path, where) {
  if (!path.startsWith('/')) throw new RangeError(`${path} does not begin with /`);
  const texts = path === '/' ? [] : path.slice(1).split('/');
  const names = new Set();
  const parts = texts.map((text, place) => {
    const found = /^(:|\*)([A-Za-z_]\w*)(\?)?$/.exec(text);
    if (text === '' || (!found && /^[:*]/.test(text))) throw new RangeError(`${path} has a bad part`);
    if (!found) return { kind: TEXT, text };
    const [, sign, name, optional] = found;
    const open = sign === '*' || optional;
    if (names.has(name) || (open && place < texts.length - 1) || (sign === '*' && optional)) throw new RangeError(`${path} has a bad part`);
    names.add(name);
    const check = Object.hasOwn(where, name) ? new RegExp(`^(?:${where[name].source})$`, where[name].flags.replace(/[gmy]/g, '')) : null;
    return { kind: sign === '*' ? REST : check ? CHECKED : ANY, name, check, optional: Boolean(optional) };
  });
  if (Object.keys(where).some((name) => !names.has(name))) throw new RangeError(`${path} has no such parameter`);
  return parts;
}

function takes(part, value) {
  return value !== '' && (!part.check || part.check.test(value));
}

function fits(parts, given) {
  const last = parts.at(-1);
  if (last?.kind === REST ? given.length < parts.length : given.length > parts.length) return false;
  if (given.length < parts.length - (last?.optional ? 1 : 0)) return false;
  return parts.every((part, place) => {
    if (part.kind === TEXT) return part.text === given[place];
    if (part.kind === REST) return !given.slice(place).includes('') && takes(part, given.slice(place).join('/'));
    return given[place] === undefined || takes(part, given[place]);
  });
}

function values(parts, given) {
  const found = {};
  parts.forEach((part, place) => {
    if (part.kind === TEXT || place >= given.length) return;
    found[part.name] = part.kind === REST ? given.slice(place).join('/') : given[place];
  });
  return found;
}

function compare(one, other) {
  for (let place = 0; place < Math.max(one.parts.length, other.parts.length); place += 1) {
    const [a, b] = [one, other].map((route) => route.parts[place]?.kind ?? -1);
    if (a !== b) return a - b;
  }
  return 0;
}

function readQuery(text) {
  const query = Object.create(null);
  for (const pair of text.split('&').filter(Boolean)) {
    const place = pair.indexOf('=');
    const [key, value] = (place < 0 ? [pair, ''] : [pair.slice(0, place), pair.slice(place + 1)]).map(decoded);
    query[key] = key in query ? [query[key], value].flat() : value;
  }
  return query;
}

function decoded(text) {
  const plain = text.replaceAll('+', ' ');
  try {
    return decodeURIComponent(plain);
  } catch {
    return plain;
  }
}
