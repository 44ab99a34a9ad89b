/** What a field takes; see the statement. */
export type Schema = { type: string; optional?: boolean; default?: unknown; [limit: string]: unknown };

export type Result = { ok: true; value: unknown } | { ok: false; errors: Record<string, string> };

/** Return the values in `input`, or the errors by path. */
export function check(schema: Schema, input: unknown): Result {
  throw new Error('not implemented');
}
