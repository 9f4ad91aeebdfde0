/**
 * `createMemoryTables` holds the rows of the in-memory store and makes its transactions atomic.
 *
 * Invariant: work runs one at a time, every change records its undo, and an error undoes all changes. Rows are never
 * changed in place: put a new row.
 */
import { sessionKey, type SessionRef } from "@turnstream/server/internal";

/** A session, with which its rows are erased, or the id of a tenant or "". */
type Owner = SessionRef | string;

/** A table. Its rows are grouped by owner. */
export interface Table<_Row, RowOwner extends Owner> {
  readonly name: string;
  readonly owner?: RowOwner;
}

export function table<Row>(name: string): Table<Row, string> {
  return { name };
}

/** A table whose rows are erased with their session. */
export function sessionTable<Row>(name: string): Table<Row, SessionRef> {
  return { name };
}

export interface MemoryTables {
  /** Runs synchronous work alone. Its changes are undone if it throws. */
  run<T>(work: (rows: Rows) => T): Promise<T>;
  /** Like `run`, for several steps without other work in between. A nested call joins the running transaction. */
  transaction<T>(work: (tables: MemoryTables) => Promise<T>): Promise<T>;
}

/** The methods of a part of the store as functions of the rows. */
type PartOnRows<Part> = {
  readonly [Name in keyof Part]: Part[Name] extends (...args: infer Args) => Promise<infer Result>
    ? (rows: Rows, ...args: Args) => Result
    : never;
};

/** Creates a part of the store: each call of it runs alone, and its changes are undone if it throws. */
export function createPart<Part>(tables: MemoryTables, methods: PartOnRows<Part>): Part {
  const calls = Object.entries<(rows: Rows, ...args: unknown[]) => unknown>(methods).map(([name, call]) => [
    name,
    (...args: unknown[]) => tables.run((rows) => call(rows, ...args)),
  ]);
  return Object.fromEntries(calls) as Part;
}

export function createMemoryTables(): MemoryTables {
  const data = new Rows();
  let last: Promise<unknown> = Promise.resolve();
  const inTurn = <T>(work: () => Promise<T>): Promise<T> => {
    const result = last.then(work);
    last = result.catch(() => undefined);
    return result;
  };
  const inner: MemoryTables = {
    run: async (work) => data.allOrNothing(() => work(data)),
    transaction: (work) => work(inner),
  };
  return {
    run: (work) => inTurn(() => inner.run(work)),
    transaction: (work) => inTurn(() => data.allOrNothingAsync(() => work(inner))),
  };
}

/** The rows that one piece of work reads and changes. They have no defined order: sort what you return. */
export class Rows {
  /** By the name of the table, then by owner, then by key. */
  readonly #tables = new Map<string, Map<string, Map<string, unknown>>>();
  readonly #sequences = new Map<string, number>();
  readonly #undo: (() => void)[] = [];

  get<Row, Of extends Owner>(of: Table<Row, Of>, owner: Of, key: string): Row | undefined {
    return this.#tables.get(of.name)?.get(ownerKey(owner))?.get(key) as Row | undefined;
  }

  /** Returns all rows of one owner. */
  of<Row, Of extends Owner>(of: Table<Row, Of>, owner: Of): Row[] {
    return [...(this.#tables.get(of.name)?.get(ownerKey(owner))?.values() ?? [])] as Row[];
  }

  all<Row>(of: Table<Row, Owner>): Row[] {
    const byOwner = [...(this.#tables.get(of.name)?.values() ?? [])];
    return byOwner.flatMap((rows) => [...rows.values()]) as Row[];
  }

  put<Row, Of extends Owner>(of: Table<Row, Of>, owner: Of, key: string, row: Row): void {
    const before = this.get(of, owner, key);
    this.#set(of, owner, key, row);
    this.#undo.push(() => this.#set(of, owner, key, before));
  }

  remove<Row, Of extends Owner>(of: Table<Row, Of>, owner: Of, key: string): boolean {
    const before = this.get(of, owner, key);
    if (before === undefined) return false;
    this.#set(of, owner, key, undefined);
    this.#undo.push(() => this.#set(of, owner, key, before));
    return true;
  }

  /** Removes the rows of a session from every table, like ON DELETE CASCADE. */
  removeOwned(session: SessionRef): void {
    const key = ownerKey(session);
    for (const byOwner of this.#tables.values()) {
      const rows = byOwner.get(key);
      if (rows === undefined) continue;
      byOwner.delete(key);
      this.#undo.push(() => byOwner.set(key, rows));
    }
  }

  /** Returns 1, 2, 3 …. As with a PostgreSQL sequence, a failure does not give the number back. */
  next(sequence: string): number {
    const value = (this.#sequences.get(sequence) ?? 0) + 1;
    this.#sequences.set(sequence, value);
    return value;
  }

  allOrNothing<T>(work: () => T): T {
    const mark = this.#undo.length;
    try {
      const result = work();
      // Outside a transaction the work is final. Inside one, the transaction may still undo it.
      if (mark === 0 && !this.#inTransaction) this.#undo.length = 0;
      return result;
    } catch (error) {
      this.#undoTo(mark);
      throw error;
    }
  }

  #inTransaction = false;

  async allOrNothingAsync<T>(work: () => Promise<T>): Promise<T> {
    this.#inTransaction = true;
    try {
      const result = await work();
      this.#undo.length = 0;
      return result;
    } catch (error) {
      this.#undoTo(0);
      throw error;
    } finally {
      this.#inTransaction = false;
    }
  }

  #undoTo(mark: number): void {
    while (this.#undo.length > mark) this.#undo.pop()?.();
  }

  #set(of: Table<unknown, Owner>, given: Owner, key: string, row: unknown): void {
    const owner = ownerKey(given);
    const byOwner = this.#tables.get(of.name) ?? new Map<string, Map<string, unknown>>();
    const rows = byOwner.get(owner) ?? new Map<string, unknown>();
    this.#tables.set(of.name, byOwner);
    byOwner.set(owner, rows);
    if (row === undefined) rows.delete(key);
    else rows.set(key, row);
    if (rows.size === 0) byOwner.delete(owner);
  }
}

function ownerKey(owner: Owner): string {
  // No id contains NUL.
  return typeof owner === "string" ? owner : `\0${sessionKey(owner)}`;
}
