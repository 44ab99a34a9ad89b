/** What a field takes; see the statement. */
export type Schema = { type: string; optional?: boolean; default?: unknown; [limit: string]: unknown };

export type Result = { ok: true; value: unknown } | { ok: false; errors: Record<string, string> };

class Wrong {
  readonly message: string;
  constructor(message: string) {
    this.message = message;
  }
}

const LEFT_OUT = Symbol('left out');
const NUMBER = /^-?\d+(\.\d+)?$/;
const DATE = /^(\d{4})-(\d{2})-(\d{2})$/;
const FLAGS = new Map<unknown, boolean>([[true, true], [false, false], ['on', true], ['true', true], ['false', false], ['off', false]]);

/** Return the values in `input`, or the errors by path. */
export function check(schema: Schema, input: unknown): Result {
  const errors: Record<string, string> = Object.create(null);
  const value = read(schema, input, '', errors);
  return Object.keys(errors).length ? { ok: false, errors: { ...errors } } : { ok: true, value };
}

function read(schema: Schema, input: unknown, path: string, errors: Record<string, string>): unknown {
  try {
    if (input === undefined || input === null || (typeof input === 'string' && input.trim() === '')) return missing(schema);
    return READERS[schema.type](schema, input, path, errors);
  } catch (error) {
    if (!(error instanceof Wrong)) throw error;
    errors[path] = error.message;
    return undefined;
  }
}

function missing(schema: Schema): unknown {
  if (Object.hasOwn(schema, 'default')) return schema.default;
  if (schema.type === 'flag') return false;
  if (schema.optional) return LEFT_OUT;
  throw new Wrong('required');
}

function limit<T>(schema: Schema, value: T, low: string, high: string): void {
  if (schema.min !== undefined && value < (schema.min as T)) throw new Wrong(low);
  if (schema.max !== undefined && value > (schema.max as T)) throw new Wrong(high);
}

type Reader = (schema: Schema, input: unknown, path: string, errors: Record<string, string>) => unknown;

const READERS: Record<string, Reader> = {
  text(schema, input) {
    if (typeof input !== 'string') throw new Wrong('wrong type');
    const text = input.trim();
    limit(schema, [...text].length, 'too short', 'too long');
    const pattern = schema.pattern as RegExp | undefined;
    if (pattern) {
      const whole = new RegExp(`^(?:${pattern.source})$`, pattern.flags.replace(/[gmy]/g, ''));
      if (!whole.test(text)) throw new Wrong('wrong format');
    }
    return text;
  },
  number(schema, input) {
    const value = typeof input === 'string' && NUMBER.test(input.trim()) ? Number(input) : input;
    if (typeof value !== 'number' || !Number.isFinite(value)) throw new Wrong('wrong type');
    limit(schema, value, 'too small', 'too large');
    if (schema.whole && !Number.isInteger(value)) throw new Wrong('not whole');
    return value;
  },
  flag(_, input) {
    const value = FLAGS.get(input);
    if (value === undefined) throw new Wrong('wrong type');
    return value;
  },
  choice(schema, input) {
    if (typeof input !== 'string') throw new Wrong('wrong type');
    if (!(schema.of as string[]).includes(input)) throw new Wrong('unknown choice');
    return input;
  },
  date(schema, input) {
    const parts = typeof input === 'string' ? DATE.exec(input) : null;
    if (!parts) throw new Wrong('wrong type');
    const [year, month, day] = parts.slice(1).map(Number);
    const date = new Date(0);
    date.setUTCFullYear(year, month - 1, day);
    if (date.getUTCMonth() !== month - 1 || date.getUTCDate() !== day) throw new Wrong('wrong type');
    limit(schema, input as string, 'too early', 'too late');
    return input;
  },
  list(schema, input, path, errors) {
    if (!Array.isArray(input)) throw new Wrong('wrong type');
    limit(schema, input.length, 'too few', 'too many');
    const seen = new Set<string>();
    const values: unknown[] = [];
    for (const [place, entry] of [...input].entries()) {
      const here = `${path}[${place}]`;
      const before = Object.keys(errors).length;
      const value = read(schema.of as Schema, entry, here, errors);
      if (value === LEFT_OUT || Object.keys(errors).length > before) continue;
      const key = canonical(value);
      if (schema.unique && seen.has(key)) errors[here] = 'repeated';
      seen.add(key);
      values.push(value);
    }
    return values;
  },
  object(schema, input, path, errors) {
    if (typeof input !== 'object' || Array.isArray(input)) throw new Wrong('wrong type');
    const prototype = Object.getPrototypeOf(input);
    if (prototype !== Object.prototype && prototype !== null) throw new Wrong('wrong type');
    const given = input as Record<string, unknown>;
    const fields = schema.fields as Record<string, Schema>;
    const place = (name: string) => (path ? `${path}.${name}` : name);
    const values: Record<string, unknown> = {};
    const good = new Set<string>();
    for (const name of Object.keys(fields)) {
      const before = Object.keys(errors).length;
      const value = read(fields[name], Object.hasOwn(given, name) ? given[name] : undefined, place(name), errors);
      if (Object.keys(errors).length > before) continue;
      good.add(name);
      if (value !== LEFT_OUT) Object.defineProperty(values, name, { value, enumerable: true, writable: true, configurable: true });
    }
    for (const name of Object.keys(given)) {
      if (!Object.hasOwn(fields, name)) errors[place(name)] = 'unknown field';
    }
    const [one, other] = (schema.same as string[] | undefined) ?? [];
    if (good.has(one) && good.has(other) && canonical(values[one]) !== canonical(values[other])) errors[place(other)] = 'differs';
    return values;
  },
};

function canonical(value: unknown): string {
  return JSON.stringify(value, (_, part) =>
    part && typeof part === 'object' && !Array.isArray(part) ? Object.fromEntries(Object.entries(part).sort(([a], [b]) => (a < b ? -1 : 1))) : part,
  ) ?? 'undefined';
}
