/** A change of the state; both functions return a new state. */
export type Change<S> = { label: string; apply(state: S): S; revert(state: S): S };

export type Options<S> = { limit?: number; merge?: (earlier: Change<S>, later: Change<S>) => Change<S> | null };

const MERGED_WITHIN = 500;

/** Undo and redo of an editor. */
export class History<S> {
  state: S;
  #limit: number;
  #merge: NonNullable<Options<S>['merge']>;
  #done: Change<S>[] = [];
  #undone: Change<S>[] = [];
  #group: { label: string; depth: number; changes: Change<S>[]; state: S } | null = null;
  #last: number | null = null; // when the change came that the next one may be merged with
  #saved: Change<S> | null | undefined = null; // the change before the marked place; null: the start, undefined: forgotten
  #first: Change<S> | null = null; // the latest change that was forgotten
  #listeners = new Set<() => void>();

  constructor(state: S, { limit = 100, merge = () => null }: Options<S> = {}) {
    this.state = state;
    this.#limit = limit;
    this.#merge = merge;
  }

  get undoLabel(): string | null {
    return this.#done.at(-1)?.label ?? null;
  }

  get redoLabel(): string | null {
    return this.#undone.at(-1)?.label ?? null;
  }

  get dirty(): boolean {
    return (this.#group?.changes.length ?? 0) > 0 || this.#saved !== this.#place();
  }

  do(change: Change<S>, at: number): void {
    const state = change.apply(this.state);
    this.state = state;
    const changes = this.#group?.changes ?? this.#done;
    const before = this.#last;
    this.#last = at;
    if (before !== null && changes.length > 0 && at >= before && at - before <= MERGED_WITHIN) {
      const merged = this.#merge(changes[changes.length - 1], change);
      if (merged) {
        changes[changes.length - 1] = merged;
        if (!this.#group) this.#tell();
        return;
      }
    }
    if (this.#group) {
      changes.push(change);
    } else {
      this.#push(change);
      this.#tell();
    }
  }

  undo(): string | null {
    return this.#move(this.#done, this.#undone, (change) => change.revert(this.state));
  }

  redo(): string | null {
    return this.#move(this.#undone, this.#done, (change) => change.apply(this.state));
  }

  begin(label: string): void {
    this.#last = null;
    if (this.#group) this.#group.depth += 1;
    else this.#group = { label, depth: 1, changes: [], state: this.state };
  }

  end(): void {
    const group = this.#group;
    if (!group) throw new Error('there is no group');
    this.#last = null;
    group.depth -= 1;
    if (group.depth > 0) return;
    this.#group = null;
    const { label, changes } = group;
    if (changes.length === 0) return;
    this.#push({
      label,
      apply: (state) => changes.reduce((so_far, change) => change.apply(so_far), state),
      revert: (state) => changes.reduceRight((so_far, change) => change.revert(so_far), state),
    });
    this.#tell();
  }

  cancel(): void {
    const group = this.#group;
    if (!group) throw new Error('there is no group');
    this.#last = null;
    this.#group = null;
    this.state = group.state;
    if (group.changes.length > 0) this.#tell();
  }

  save(): void {
    this.#last = null;
    this.#saved = this.#place();
  }

  subscribe(listener: () => void): () => void {
    const own = () => listener();
    this.#listeners.add(own);
    return () => void this.#listeners.delete(own);
  }

  #place(): Change<S> | null {
    return this.#done.at(-1) ?? this.#first;
  }

  #push(change: Change<S>): void {
    if (this.#undone.includes(this.#saved as Change<S>)) this.#saved = undefined;
    this.#undone = [];
    this.#done.push(change);
    while (this.#done.length > this.#limit) {
      this.#first = this.#done.shift() as Change<S>;
    }
  }

  #move(from: Change<S>[], to: Change<S>[], carryOut: (change: Change<S>) => S): string | null {
    if (this.#group) throw new Error('a group is open');
    const change = from.at(-1);
    if (!change) return null;
    this.state = carryOut(change);
    this.#last = null;
    to.push(from.pop() as Change<S>);
    this.#tell();
    return change.label;
  }

  #tell(): void {
    for (const listener of [...this.#listeners]) {
      if (this.#listeners.has(listener)) listener();
    }
  }
}
