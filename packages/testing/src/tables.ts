/**
 * `createMemoryTables` holds the rows of the in-memory store and makes its transactions atomic.
 *
 * Invariant: work runs one at a time, every change records its undo, and an error undoes all changes. Rows are never
 * changed in place: put a new row.
 */
import { sessionKey, type SessionRef } from "@turnstream/server/internal";

type OwnerKind = "session" | "tenant" | "none";

/** The session or the id of the tenant with which rows are erased, and "" for other rows. */
type Owner<Kind extends OwnerKind> = Kind extends "session" ? SessionRef : string;

/** A table. Its rows are grouped by owner. */
export interface Table<_Row, Kind extends OwnerKind = OwnerKind> {
  readonly name: string;
  readonly owner: Kind;
}

export function table<Row>(name: string, owner: "tenant" | "none"): Table<Row, "tenant" | "none"> {
  return { name, owner };
}

/** A table whose rows are erased with their session. */
export function sessionTable<Row>(name: string): Table<Row, "session"> {
  return { name, owner: "session" };
}

/** The rows that one piece of work reads and changes. They have no defined order: sort what you return. */
export interface Rows {
  get<Row, Kind extends OwnerKind>(of: Table<Row, Kind>, owner: Owner<Kind>, key: string): Row | undefined;
  /** Returns all rows of one owner. */
  of<Row, Kind extends OwnerKind>(of: Table<Row, Kind>, owner: Owner<Kind>): Row[];
  all<Row>(of: Table<Row>): Row[];
  put<Row, Kind extends OwnerKind>(of: Table<Row, Kind>, owner: Owner<Kind>, key: string, row: Row): void;
  remove<Row, Kind extends OwnerKind>(of: Table<Row, Kind>, owner: Owner<Kind>, key: string): boolean;
  /** Removes the owner's rows from every table of that kind, like ON DELETE CASCADE. */
  removeOwned<Kind extends "session" | "tenant">(kind: Kind, owner: Owner<Kind>): void;
  /** Returns 1, 2, 3 …. As with a PostgreSQL sequence, a failure does not give the number back. */
  next(sequence: string): number;
}

export interface MemoryTables {
  /** Runs synchronous work alone. Its changes are undone if it throws. */
  run<T>(work: (rows: Rows) => T): Promise<T>;
  /** Like `run`, for several steps without other work in between. A nested call joins the running transaction. */
  transaction<T>(work: (tables: MemoryTables) => Promise<T>): Promise<T>;
}

export function createMemoryTables(): MemoryTables {
  const data = new RowData();
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

class RowData implements Rows {
  readonly #tables = new Map<string, { owner: string; byOwner: Map<string, Map<string, unknown>> }>();
  readonly #sequences = new Map<string, number>();
  readonly #undo: (() => void)[] = [];

  get<Row>(of: Table<Row>, owner: string | SessionRef, key: string): Row | undefined {
    return this.#tables.get(of.name)?.byOwner.get(ownerKey(owner))?.get(key) as Row | undefined;
  }

  of<Row>(of: Table<Row>, owner: string | SessionRef): Row[] {
    return [...(this.#tables.get(of.name)?.byOwner.get(ownerKey(owner))?.values() ?? [])] as Row[];
  }

  all<Row>(of: Table<Row>): Row[] {
    const byOwner = this.#tables.get(of.name)?.byOwner ?? new Map<string, Map<string, unknown>>();
    return [...byOwner.values()].flatMap((rows) => [...rows.values()]) as Row[];
  }

  put<Row>(of: Table<Row>, owner: string | SessionRef, key: string, row: Row): void {
    const before = this.get(of, owner, key);
    this.#set(of, owner, key, row);
    this.#undo.push(() => this.#set(of, owner, key, before));
  }

  remove<Row>(of: Table<Row>, owner: string | SessionRef, key: string): boolean {
    const before = this.get(of, owner, key);
    if (before === undefined) return false;
    this.#set(of, owner, key, undefined);
    this.#undo.push(() => this.#set(of, owner, key, before));
    return true;
  }

  removeOwned(kind: "session" | "tenant", owner: string | SessionRef): void {
    const key = ownerKey(owner);
    for (const stored of this.#tables.values()) {
      const rows = stored.byOwner.get(key);
      if (stored.owner !== kind || rows === undefined) continue;
      stored.byOwner.delete(key);
      this.#undo.push(() => stored.byOwner.set(key, rows));
    }
  }

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

  #set(of: Table<unknown>, given: string | SessionRef, key: string, row: unknown): void {
    const owner = ownerKey(given);
    let stored = this.#tables.get(of.name);
    if (stored === undefined) this.#tables.set(of.name, (stored = { owner: of.owner, byOwner: new Map() }));
    let rows = stored.byOwner.get(owner);
    if (rows === undefined) stored.byOwner.set(owner, (rows = new Map()));
    if (row === undefined) rows.delete(key);
    else rows.set(key, row);
    if (rows.size === 0) stored.byOwner.delete(owner);
  }
}

function ownerKey(owner: string | SessionRef): string {
  return typeof owner === "string" ? owner : sessionKey(owner);
}
