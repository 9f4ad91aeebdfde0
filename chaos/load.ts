/**
 * `Load` writes to and reads from many sessions at once: an owner, a gateway and readers for each. It starts and
 * settles the load, and compares the writes with the log. Does not cause faults.
 */
import { setTimeout as sleep } from "node:timers/promises";
import type { SessionRef } from "@turnstream/server";
import { archiveSession, type LogEntry } from "@turnstream/server/internal";
import type { Log, ClosableStore } from "@turnstream/server/ports";
import { Ledger } from "./ledger.ts";
import { readLog } from "@turnstream/testkit/backend/read-all-events.ts";
import { Watcher } from "./watcher.ts";
import { Joiner, Owner, WriterOwner, type Setting, type Tally } from "./writers.ts";

export interface LoadOptions {
  readonly store: ClosableStore;
  /** Each log has its own connections, as if it were in its own process. */
  readonly owners: Log;
  readonly gateways: Log;
  readonly readers: readonly Log[];
  readonly random: () => number;
}

export interface Crowd {
  readonly ref: SessionRef;
  readonly ledger: Ledger;
  readonly owner: Owner;
  readonly gateway: Joiner;
  readonly watchers: readonly Watcher[];
}

interface Shift {
  readonly stop: AbortController;
  readonly loops: Promise<void>[];
}

function newShift(): Shift {
  return { stop: new AbortController(), loops: [] };
}

const TENANT = "chaos";
const TIMEOUT_MS = 60_000;

export class Load {
  readonly crowds = new Set<Crowd>();
  readonly tally: Tally = { acknowledged: 0, ambiguous: 0, repeated: 0, unclaimed: 0, claims: 0 };
  readonly #options: LoadOptions;
  #made = 0;
  #working: { owners: Shift; gateways: Shift } | null = null;
  #resting: ReadonlySet<Crowd> = new Set();

  private constructor(options: LoadOptions) {
    this.#options = options;
  }

  static async make(options: LoadOptions, sessions: number): Promise<Load> {
    await options.store.tenants.create({ id: TENANT, name: "Chaos" });
    const load = new Load(options);
    for (let n = 0; n < sessions; n++) await load.add();
    return load;
  }

  /** Adds a session. It takes part at once if the load is running. */
  async add(): Promise<Crowd> {
    const { store, owners, gateways, readers, random } = this.#options;
    const n = ++this.#made;
    const session = `s${n}`;
    await store.sessions.create({ tenant: TENANT, user: "chaos" }, { id: session });
    const ledger = new Ledger();
    const ref = { tenant: TENANT, session };
    const base = { ref, ledger, tally: this.tally, random };
    const setting: Setting = { ...base, backend: { store, log: owners }, name: `owner${n}`, restMs: 8 };
    const owner = n % 2 === 0 ? new WriterOwner(setting) : new Owner(setting);
    await owner.claim();
    const gateway = new Joiner({
      ...base,
      backend: { store, log: gateways },
      name: `gateway${n}`,
      restMs: 20,
    });
    const watchers = readers.map((log) => new Watcher(log, ref, "0-0"));
    const crowd: Crowd = { ref, ledger, owner, gateway, watchers };
    this.crowds.add(crowd);
    if (this.#working !== null) this.#put(crowd);
    return crowd;
  }

  /** @param resting sessions whose writers wait for `wake` */
  start(resting: ReadonlySet<Crowd> = new Set()): void {
    this.#working = { owners: newShift(), gateways: newShift() };
    this.#resting = resting;
    for (const crowd of this.crowds) if (!resting.has(crowd)) this.#put(crowd);
  }

  wake(): void {
    for (const crowd of this.#resting) this.#put(crowd);
    this.#resting = new Set();
  }

  #put({ owner, gateway }: Crowd): void {
    if (this.#working === null) return;
    const { owners, gateways } = this.#working;
    for (const [shift, writer] of [
      [owners, owner],
      [gateways, gateway],
    ] as const) {
      const loop = writer.work(shift.stop.signal);
      // `settle` reports the failure.
      loop.catch(() => undefined);
      shift.loops.push(loop);
    }
  }

  /** Waits until every writer has got a new answer, that is, until all have recovered from a fault. */
  async recovered(): Promise<void> {
    const writers = [...this.crowds].flatMap(({ owner, gateway }) => [owner, gateway]);
    const marks = new Map(writers.map((writer) => [writer, writer.answers]));
    const deadline = performance.now() + TIMEOUT_MS;
    const isWaiting = () => writers.some((writer) => writer.answers <= (marks.get(writer) ?? 0));
    while (isWaiting()) {
      if (performance.now() > deadline) throw new Error("a writer did not recover");
      await sleep(5);
    }
  }

  /** Lets every writer finish its current append. Gateways stop first, because they may wait for an owner to claim. */
  async settle(): Promise<void> {
    const working = this.#working;
    this.#working = null;
    if (working === null) return;
    const failed = Promise.all(working.owners.loops);
    failed.catch(() => undefined);
    working.gateways.stop.abort();
    await Promise.race([Promise.all(working.gateways.loops), failed]);
    working.owners.stop.abort();
    await Promise.all([...working.gateways.loops, failed]);
  }

  /** Reads the part of a session's log that was not compared yet. @returns null if even the compared part is missing */
  read({ ref, ledger }: Crowd): Promise<LogEntry[] | null> {
    return readLog(this.#options.owners, ref, ledger.checked);
  }

  /**
   * Continues after a finished comparison, and trims the compared part of the log. It is archived before, because a claim
   * replaces a log whose trimmed part is not in the archive.
   */
  async accept(crowd: Crowd, entries: readonly LogEntry[]): Promise<void> {
    const { ledger, owner, ref, watchers } = crowd;
    ledger.settle(entries, owner instanceof WriterOwner ? owner.writerName : null);
    for (const watcher of watchers) watcher.settle(ledger.checked);
    const { store, owners: log } = this.#options;
    await archiveSession({ store, log }, ref);
    await log.trim(ref, ledger.checked);
  }

  /** Removes a session and its log. */
  async retire(crowd: Crowd): Promise<void> {
    this.crowds.delete(crowd);
    await Promise.all(crowd.watchers.map((watcher) => watcher.stop()));
    await this.#options.owners.remove(crowd.ref);
  }

  async end(): Promise<void> {
    await this.settle();
    await Promise.all([...this.crowds].flatMap(({ watchers }) => watchers.map((watcher) => watcher.stop())));
    const { owners, gateways, readers, store } = this.#options;
    await Promise.all([...new Set([owners, gateways, ...readers]), store].map((part) => part.close()));
  }
}

/** Waits until a reader has caught up. @returns true if it has exactly the log */
export async function hasExactly(watcher: Watcher, entries: readonly LogEntry[]): Promise<boolean> {
  const deadline = performance.now() + TIMEOUT_MS;
  const isThere = () => watcher.view.at(-1)?.cursor === entries.at(-1)?.cursor;
  while (!isThere() && performance.now() < deadline) await sleep(5);
  const { view } = watcher;
  return view.length === entries.length && view.every((entry, n) => entry.text === entries[n]?.text);
}
