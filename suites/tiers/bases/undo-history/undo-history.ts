/** A change of the state; both functions return a new state. */
export type Change<S> = { label: string; apply(state: S): S; revert(state: S): S };

export type Options<S> = { limit?: number; merge?: (earlier: Change<S>, later: Change<S>) => Change<S> | null };

/** Undo and redo of an editor. */
export class History<S> {
  constructor(state: S, options: Options<S> = {}) {
    throw new Error('not implemented');
  }
}
