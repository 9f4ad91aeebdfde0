/** Tests the queue of turns on a real PostgreSQL while eight connections change the same sessions. */
import { type Random, seededRandom } from "@turnstream/testkit/util/seeded-random.ts";
import { sql } from "kysely";
import { expect, onTestFinished, test } from "vitest";

import { isStoreError } from "../../src/store/errors.ts";
import type { StartedTurn } from "../../src/store/turn-queue.ts";
import { openDatabase } from "../../src/store/database/open-database.ts";
import { createPostgresStore } from "../../src/store/create-postgres-store.ts";
import type { ClosableStore } from "../../src/store/store.ts";
import type { SessionRef } from "../../src/util/refs.ts";
import { newSession } from "./harness.ts";
import { timedHarness } from "./postgres-harness.ts";
import { YEAR_MS } from "./start-turn.ts";

const SESSIONS = 20;
const CONNECTIONS = 8;
const CHANGES = 250;
/** Longer than a turn waits after its deaths, and for an idle process. */
const ALL_DELAYS_MS = 120_000;
const AGENTS = [null, "a", "b"];

/** What happened to the messages and turns of all connections. */
class Outcomes {
  readonly added: string[] = [];
  readonly removed = new Set<string>();
  /** The messages of ended turns. */
  readonly ran: string[] = [];
  readonly #ended = new Set<string>();
  readonly #epochs = new Set<string>();
  readonly #newest = new Map<string, number>();
  readonly faults: string[] = [];

  /** Of one session, no epoch is given twice. */
  start({ held, row }: StartedTurn): void {
    const epoch = `${held.session} ${held.epoch}`;
    if (this.#epochs.has(epoch)) this.faults.push(`two attempts under epoch ${epoch}`);
    this.#epochs.add(epoch);
    this.#newest.set(held.session, Math.max(held.epoch, this.#newest.get(held.session) ?? 0));
    if (this.#ended.has(row.turn)) this.faults.push(`turn ${row.turn} started after its end`);
  }

  /** Call it before a change of a turn. @returns true if another attempt has started, so that it must be refused */
  isOutdated({ held }: StartedTurn): boolean {
    return held.epoch < (this.#newest.get(held.session) ?? 0);
  }

  end({ row }: StartedTurn): void {
    this.#ended.add(row.turn);
    this.ran.push(row.message?.id ?? "none");
  }
}

/** One process: it changes the sessions one time after the other, and remembers the turns that it started. */
class Process {
  readonly executor: string;
  readonly #store: ClosableStore;
  readonly #random: Random;
  readonly #outcomes: Outcomes;
  readonly #refs: readonly SessionRef[];
  #turns: StartedTurn[] = [];
  #added = 0;

  constructor(n: number, store: ClosableStore, refs: readonly SessionRef[], outcomes: Outcomes) {
    this.executor = `p${n}`;
    this.#store = store;
    this.#random = seededRandom(n + 1);
    this.#refs = refs;
    this.#outcomes = outcomes;
  }

  async change(): Promise<void> {
    const { queue, queuedMessages } = this.#store;
    const ref = this.#pick(this.#refs);
    const turn = this.#pick([...this.#turns, null]);
    const changes: (() => Promise<unknown>)[] = [
      () => this.#add(ref),
      () => this.#add(ref),
      async () => {
        const [waiting] = await queuedMessages.list(ref);
        const id = waiting?.id ?? "none";
        if (await queuedMessages.remove(ref, id)) this.#outcomes.removed.add(id);
      },
      () => this.start(this.#pick([1, 3, 8])),
      () => this.start(this.#pick([1, 3, 8])),
      () => queue.wake(ref),
      () => queue.wakeDue({ limit: 3 }),
      () => queue.recover(`p${this.#pick([...Array(CONNECTIONS).keys()])}`, { limit: 2 }),
      () => this.#release(),
      () => this.#store.queue.leave(this.executor),
      ...(turn === null
        ? []
        : [
            () => this.#end(turn),
            () => this.#end(turn),
            () => this.#end(turn),
            () => this.#again(turn),
            () => this.#park(turn),
          ]),
    ];
    await this.#pick(changes)();
  }

  async start(limit: number): Promise<number> {
    const agents = this.#pick([["a"], ["b"], ["a", "b"]]);
    const isIdle = this.#turns.length === 0;
    await this.#store.leases.take(this.executor, YEAR_MS);
    const started = await this.#store.queue.start({ executor: this.executor, agents, limit, isIdle });
    for (const turn of started) this.#outcomes.start(turn);
    this.#turns.push(...started);
    return started.length;
  }

  async endAll(): Promise<void> {
    for (const turn of this.#turns) await this.#end(turn);
  }

  async #add(ref: SessionRef): Promise<void> {
    const id = `${this.executor}-${++this.#added}`;
    const agent = this.#pick(AGENTS);
    await this.#store.queuedMessages.add(ref, { id, text: id, options: agent === null ? {} : { agent } });
    this.#outcomes.added.push(id);
  }

  async #end(turn: StartedTurn): Promise<void> {
    this.#drop(turn);
    const isOutdated = this.#outcomes.isOutdated(turn);
    try {
      const { held, row } = turn;
      const receipt = await this.#store.queue.end(held, row.turn, { epoch: held.epoch });
      if (receipt === "over") return;
      this.#outcomes.end(turn);
      if (isOutdated) this.#outcomes.faults.push(`an old attempt ended turn ${row.turn}`);
    } catch (error) {
      // Another process has started it since.
      if (!isStoreError(error, "FENCED")) throw error;
    }
  }

  async #again(turn: StartedTurn): Promise<void> {
    const isOutdated = this.#outcomes.isOutdated(turn);
    const row = await this.#store.queue.again(turn.held);
    if (row === null) return this.#drop(turn);
    if (isOutdated) this.#outcomes.faults.push(`an old attempt at turn ${row.turn} was repeated`);
    this.#outcomes.start(turn);
  }

  async #park(turn: StartedTurn): Promise<void> {
    this.#drop(turn);
    const { held, row } = turn;
    const isOutdated = this.#outcomes.isOutdated(turn);
    const isParked = await this.#store.queue.park(held, row.turn, { wakeAt: this.#pick([null, 1]) });
    if (isParked && isOutdated) this.#outcomes.faults.push(`an old attempt parked turn ${row.turn}`);
  }

  async #release(): Promise<void> {
    const turns = this.#turns;
    this.#turns = [];
    await this.#store.queue.release(turns.map(({ held }) => held));
  }

  #drop(turn: StartedTurn): void {
    this.#turns = this.#turns.filter((one) => one !== turn);
  }

  #pick<T>(from: readonly T[]): T {
    return from[Math.floor(this.#random() * from.length)] as T;
  }
}

test("eight connections change the same turns: each message runs once or is removed, and no turn is left", async () => {
  const harness = await timedHarness();
  const stores = Array.from({ length: CONNECTIONS }, () =>
    createPostgresStore(openDatabase({ url: harness.url, max: 1 })),
  );
  onTestFinished(async () => {
    for (const store of [harness.store, ...stores]) await store.close();
  });
  const { store, db } = harness;
  await store.agents.register(
    ["a", "b"].map((name) => ({ name, label: "", description: "", inputs: ["text"] })),
  );
  const refs: SessionRef[] = [];
  for (let n = 0; n < SESSIONS; n++) refs.push((await newSession(store)).ref);
  const outcomes = new Outcomes();
  const processes = stores.map((each, n) => new Process(n, each, refs, outcomes));
  await Promise.all(
    processes.map(async (one) => {
      for (let n = 0; n < CHANGES; n++) await one.change();
    }),
  );
  // Whatever was left waits for a user, or runs in a process that is now dead.
  for (const { executor } of processes) await store.queue.recover(executor, { limit: 1_000 });
  for (const ref of refs) await store.queue.wake(ref);
  await harness.wait(ALL_DELAYS_MS);
  const last = new Process(CONNECTIONS, store, refs, outcomes);
  for (let left = outcomes.added.length * 3; left > 0; left--) {
    const started = await last.start(100);
    await last.endAll();
    const { rows } = await sql`select from turn_queue where rank is not null`.execute(db);
    if (started === 0 && rows.length === 0) break;
  }
  expect(outcomes.faults).toEqual([]);
  expect([...outcomes.ran, ...outcomes.removed].toSorted()).toEqual(outcomes.added.toSorted());
  const { rows } = await sql`
    select session_id from turn_queue where executor is not null or turn is not null or next_message is not null
    union all select session_id from running_turns
    union all select session_id from waiting_messages where body is not null`.execute(db);
  expect(rows).toEqual([]);
  // All kinds of changes happened.
  expect(outcomes.removed.size).toBeGreaterThan(10);
  expect(outcomes.ran.length).toBeGreaterThan(100);
});
