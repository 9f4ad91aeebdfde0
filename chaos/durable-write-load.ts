/**
 * `DurableWriteLoad` lets clients commit one write after the other while the database fails, and records which writes
 * were acknowledged and which were cut off. `aftermath()` then checks each write in the store.
 *
 * Invariant: a write is repeated only in `aftermath()`, never while the load runs. Otherwise a lost write would be
 * restored unnoticed.
 */
import { setTimeout as sleep } from "node:timers/promises";
import type { EventDraft } from "@turnstream/protocol/writer";
import type { openDatabase, SessionRef } from "@turnstream/server";
import { isStoreError, type Store } from "@turnstream/server/ports";
import { type DurableWrite, decision, paymentSteps, type Trace, toolStart } from "./durable-writes.ts";

export type Db = ReturnType<typeof openDatabase>;

export interface Aftermath {
  acknowledged: number;
  lost: number;
  /** Cut off by the kill: their client got no answer. */
  cutOff: number;
  cutOffThere: number;
  half: number;
  /** Writes that were not completely stored exactly once after they were repeated. */
  repeatedWrong: number;
}

const AGAIN_MS = 50;

export class DurableWriteLoad {
  readonly acknowledged: DurableWrite[] = [];
  readonly #cutOff: DurableWrite[] = [];
  /** Started while the server was down. */
  readonly #refused: DurableWrite[] = [];
  readonly #store: Store;
  readonly #db: Db;
  readonly #refs: readonly SessionRef[];
  #count = 0;

  constructor(store: Store, db: Db, refs: readonly SessionRef[]) {
    this.#store = store;
    this.#db = db;
    this.#refs = refs;
  }

  /** Runs one client until `isOver`. The name makes its keys unique. */
  async work(name: string, isOver: () => boolean, isDown: () => boolean): Promise<void> {
    for (let n = 0; !isOver(); n++) {
      for (const write of this.#next(name, n)) if (!(await this.#tried(write, isDown()))) break;
    }
  }

  #next(name: string, n: number): readonly DurableWrite[] {
    const ref = this.#refs[this.#count++ % this.#refs.length] as SessionRef;
    const key = `${ref.session}.${name}.${n}`;
    if (n % 3 === 0) return paymentSteps(ref, key);
    return [n % 3 === 1 ? decision(ref, key, "someone") : toolStart(ref, key)];
  }

  async #tried(write: DurableWrite, startedDown: boolean): Promise<boolean> {
    try {
      await write.commit(this.#store);
      this.acknowledged.push(write);
      return true;
    } catch (error) {
      if (!isStoreError(error, "UNAVAILABLE")) throw error;
      (startedDown ? this.#refused : this.#cutOff).push(write);
      await sleep(AGAIN_MS);
      return false;
    }
  }

  async aftermath(): Promise<Aftermath> {
    const failed = [...this.#cutOff, ...this.#refused];
    const acknowledged = await this.#look(this.acknowledged);
    const cutOff = await this.#look(this.#cutOff);
    const refused = await this.#look(this.#refused);
    for (const write of failed) await write.commit(this.#store);
    for (const write of [...this.acknowledged.slice(-3), ...failed]) await write.commit(this.#store);
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

  async #look(writes: readonly DurableWrite[]): Promise<Trace[]> {
    const drafts = await readOutboxDrafts(this.#db, this.#refs);
    const traces: Trace[] = [];
    for (const write of writes)
      traces.push(await write.look(this.#store, drafts.get(write.ref.session) ?? new Map()));
    return traces;
  }
}

/** The drafts of all outbox rows in commit order, delivered or not. */
export async function readOutboxDrafts(
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
  const drafts = new Map(refs.map(({ session }) => [session, new Map<string, EventDraft>()]));
  for (const { session_id, key, draft } of rows) drafts.get(session_id)?.set(key, draft);
  return drafts;
}
