/**
 * Clients that do one deed after the other, whatever happens to the database, and remember which were acknowledged
 * and which were cut off. Afterwards they say what became of each. Never repeats a deed while it works.
 */
import { setTimeout as sleep } from "node:timers/promises";
import type { EventDraft } from "@turnstream/protocol";
import { isStoreError, type openDatabase, type SessionRef, type Store } from "@turnstream/server";
import { type Deed, decision, paymentSteps, type Trace, toolStart } from "./durable-writes.ts";

export type Db = ReturnType<typeof openDatabase>;

export interface Aftermath {
  acknowledged: number;
  lost: number;
  /** Cut off by the kill: nobody was told whether they happened. */
  cutOff: number;
  cutOffThere: number;
  half: number;
  /** Deeds that were not wholly there, once, after they were repeated. */
  repeatedWrong: number;
}

const AGAIN_MS = 50;

export class DeedLoad {
  readonly acknowledged: Deed[] = [];
  readonly #cutOff: Deed[] = [];
  /** Begun while there was no server. */
  readonly #refused: Deed[] = [];
  readonly #store: Store;
  readonly #db: Db;
  readonly #refs: readonly SessionRef[];
  #count = 0;

  constructor(store: Store, db: Db, refs: readonly SessionRef[]) {
    this.#store = store;
    this.#db = db;
    this.#refs = refs;
  }

  /** One client. The name makes its keys its own. */
  async work(name: string, isOver: () => boolean, isDown: () => boolean): Promise<void> {
    for (let n = 0; !isOver(); n++) {
      for (const deed of this.#next(name, n)) if (!(await this.#tried(deed, isDown()))) break;
    }
  }

  #next(name: string, n: number): readonly Deed[] {
    const ref = this.#refs[this.#count++ % this.#refs.length] as SessionRef;
    const key = `${ref.session}.${name}.${n}`;
    if (n % 3 === 0) return paymentSteps(ref, key);
    return [n % 3 === 1 ? decision(ref, key, "someone") : toolStart(ref, key)];
  }

  async #tried(deed: Deed, begunDown: boolean): Promise<boolean> {
    try {
      await deed.commit(this.#store);
      this.acknowledged.push(deed);
      return true;
    } catch (error) {
      if (!isStoreError(error, "UNAVAILABLE")) throw error;
      (begunDown ? this.#refused : this.#cutOff).push(deed);
      await sleep(AGAIN_MS);
      return false;
    }
  }

  async aftermath(): Promise<Aftermath> {
    const failed = [...this.#cutOff, ...this.#refused];
    const acknowledged = await this.#look(this.acknowledged);
    const cutOff = await this.#look(this.#cutOff);
    const refused = await this.#look(this.#refused);
    for (const deed of failed) await deed.commit(this.#store);
    for (const deed of [...this.acknowledged.slice(-3), ...failed]) await deed.commit(this.#store);
    const repeated = await this.#look([...this.acknowledged, ...failed]);
    return {
      acknowledged: acknowledged.length,
      lost: acknowledged.filter((trace) => trace !== "whole").length,
      cutOff: cutOff.length,
      cutOffThere: cutOff.filter((trace) => trace === "whole").length,
      half: [...acknowledged, ...cutOff, ...refused].filter((trace) => trace === "half").length,
      repeatedWrong: repeated.filter((trace) => trace !== "whole").length,
    };
  }

  async #look(deeds: readonly Deed[]): Promise<Trace[]> {
    const told = await toldIn(this.#db, this.#refs);
    const traces: Trace[] = [];
    for (const deed of deeds)
      traces.push(await deed.look(this.#store, told.get(deed.ref.session) ?? new Map()));
    return traces;
  }
}

/** The drafts of all outbox rows, delivered or not, in the order of their commits. */
export async function toldIn(
  db: Db,
  refs: readonly SessionRef[],
): Promise<Map<string, ReadonlyMap<string, EventDraft>>> {
  const rows = await db
    .selectFrom("outbox")
    .select(["session_id", "key", "draft"])
    .where(
      "session_id",
      "in",
      refs.map(({ session }) => session),
    )
    .orderBy("id")
    .execute();
  const told = new Map(refs.map(({ session }) => [session, new Map<string, EventDraft>()]));
  for (const { session_id, key, draft } of rows) told.get(session_id)?.set(key, draft);
  return told;
}
