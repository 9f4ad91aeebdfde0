/**
 * `TurnAttempt` holds the state of one attempt at a turn: the claimed epoch, the writer, the journal and the abort
 * signals of its branches. It does not decide what to do next.
 *
 * Invariant: a worker has at most one attempt per turn. Every journal entry carries the epoch, the worker and the entries
 * that it follows, so the store refuses it after a takeover, and after it has lost entries. The next attempt supersedes
 * everything that this one did not journal.
 */
import type { Cursor, Json, Position, SessionState, Turn } from "@turnstream/protocol";
import { EngineError } from "../errors.ts";
import type { JournalEntry, NewJournalEntry } from "../../store/journal.ts";
import type { RunningTurn } from "../../store/running-turn.ts";
import type { SessionRef } from "../../util/refs.ts";
import type { Store } from "../../store/store.ts";
import { Archiver } from "./archiver.ts";
import { Branches } from "./branches.ts";
import { DrainGate } from "./drain-gate.ts";
import {
  isRetained,
  type JournalKey,
  startKey,
  STEP_PREFIX,
  type UsageRecord,
  usageKey,
} from "./journal-keys.ts";
import { isShown, lacksResult, listWholeResults, referToResult } from "./journaled-result.ts";
import type { EngineContext } from "./context.ts";
import type { TurnMemory } from "./turn-memory.ts";
import { abortable } from "../../util/concurrency.ts";
import { PausableTimer } from "../../util/pausable-timer.ts";
import type { TurnWriter } from "../events/turn-writer.ts";
import { selectStrings } from "../../strings/catalogs.ts";
import type { RuntimeStrings } from "../../strings/runtime-strings.ts";
import { retryStore } from "./retry-store.ts";
import { findUsage, UsageTracker } from "./usage.ts";

/** Additional writes in the same transaction. */
type AlsoCommit = (tx: Store) => Promise<void>;

interface TurnAttemptOptions {
  readonly context: EngineContext;
  readonly row: RunningTurn;
  readonly epoch: number;
  readonly writer: TurnWriter;
  /** The archived state that the attempt has read. */
  readonly archived: SessionState;
  /** The stored journal. */
  readonly entries: readonly JournalEntry[];
  /** Its entries by key, with whole results. */
  readonly journal: Map<string, Json>;
  /** The calls whose results earlier attempts have started in the log. */
  readonly shownCalls: ReadonlySet<string>;
  readonly memory: TurnMemory;
  /** True if the session has lost events, and no other turn has started since. */
  readonly isFirstAfterLoss: boolean;
}

export class TurnAttempt {
  readonly context: EngineContext;
  readonly isFirstAfterLoss: boolean;
  readonly row: RunningTurn;
  readonly ref: SessionRef;
  readonly epoch: number;
  readonly writer: TurnWriter;
  readonly memory: TurnMemory;
  /** Lets running steps and tools end when the worker shuts down. */
  readonly drainGate = new DrainGate(() => this.handOver(new EngineError("LEFT", `turn ${this.row.turn}`)));
  readonly usage: UsageTracker;
  /** The language of the user, for texts that the turn shows. */
  readonly locale: string;
  readonly strings: RuntimeStrings;
  readonly branches = new Branches();
  readonly #journal: Map<string, Json>;
  readonly #wholeResults: Set<string>;
  readonly #shownCalls: ReadonlySet<string>;
  readonly #work = new AbortController();
  readonly #tools = new AbortController();
  readonly #handOver = new AbortController();
  readonly #clock = new PausableTimer();
  readonly #archiver: Archiver;
  /**
   * The keys of the last entries in the store, one of each commit whose branch didn't know of the others. The next entries
   * follow them, so that a store that has lost commits refuses those entries, and this attempt ends.
   */
  readonly #newest: Set<string>;
  /** Entries that the next commit writes. */
  readonly #deferred = new Set<NewJournalEntry>();

  constructor(options: TurnAttemptOptions) {
    this.context = options.context;
    this.row = options.row;
    this.ref = { tenant: options.row.tenant, session: options.row.session };
    this.epoch = options.epoch;
    this.writer = options.writer;
    this.isFirstAfterLoss = options.isFirstAfterLoss;
    this.memory = options.memory;
    this.usage = UsageTracker.from(options.journal);
    const { catalogs } = options.context;
    this.locale = options.writer.turn.locale ?? catalogs.defaultLocale;
    this.strings = selectStrings(this.locale, catalogs);
    this.#journal = options.journal;
    this.#wholeResults = listWholeResults(options.entries);
    this.#shownCalls = options.shownCalls;
    this.#newest = new Set(options.entries.slice(-1).map(({ key }) => key));
    this.#archiver = new Archiver(options.context, this.ref, options.archived);
  }

  get turn(): Turn {
    return this.writer.turn;
  }

  /** Aborted when the branches of this attempt must stop. */
  get signal(): AbortSignal {
    return this.#work.signal;
  }

  /** Aborted when running tools must stop. Tools that can't run again get a grace period when the worker hands over. */
  get toolSignal(): AbortSignal {
    return this.#tools.signal;
  }

  /** @param graceMs how long tools that can't run again may continue; Infinity: until they finish */
  abort(reason: unknown, graceMs = 0): void {
    if (!this.#work.signal.aborted) this.#work.abort(reason);
    if (graceMs === 0) this.#tools.abort(reason);
    else if (graceMs !== Infinity) setTimeout(() => this.#tools.abort(reason), graceMs).unref();
  }

  /** Ends this attempt, so that another worker can continue the turn. */
  handOver(reason: unknown, graceMs = 0): void {
    this.#handOver.abort(reason);
    this.abort(reason, graceMs);
  }

  /** How long the turn has run. The clock of this machine may jump, so it doesn't count. */
  get ageMs(): number {
    return Math.max(0, this.context.storeClock.now() - this.row.startedAt);
  }

  /** Pauses the turn's deadline while the turn waits for a user. */
  readonly whileWaiting = async <T>(wait: () => Promise<T>): Promise<T> => {
    this.#clock.pause();
    try {
      return await this.drainGate.wait(wait);
    } finally {
      this.#clock.resume();
    }
  };

  /** @param leftMs how long the branches may run, without time that is spent waiting for users */
  setDeadline(leftMs: number, reason: () => unknown): void {
    this.#clock.start(leftMs, () => this.abort(reason()));
  }

  stopClock(): void {
    this.#clock.stop();
  }

  /**
   * Waits while the lease is in doubt, and throws if it is lost. A process that was frozen waits here before it commits
   * anything, even if no other worker has taken over its turn yet.
   */
  async requireLease(): Promise<void> {
    if (this.context.lease.isFresh() || (await this.context.lease.untilFresh(this.toolSignal))) return;
    throw new EngineError("LEFT", `turn ${this.row.turn}`);
  }

  /** The journal as this attempt knows it. */
  get entries(): ReadonlyMap<string, Json> {
    return this.#journal;
  }

  fromJournal<T>(key: JournalKey<T>): T | undefined {
    return this.#journal.get(key) as T | undefined;
  }

  /**
   * Returns true if an earlier attempt may have run the tool of a call. A tool that must not run twice starts in the journal
   * and then in the log, and each of them can lose it.
   */
  mayHaveRun(call: string): boolean {
    return this.fromJournal(startKey(call)) !== undefined || this.#shownCalls.has(call);
  }

  /** Journals an entry before its events are written, so that a later attempt can write them. */
  async journal<T>(key: JournalKey<T>, value: T, alsoCommit?: AlsoCommit): Promise<void> {
    const { store } = this.context;
    const entry = this.#entry(key, value as Json);
    await this.#withDeferred(entry, (entries) =>
      this.#write(async () => {
        if (alsoCommit === undefined) return this.#writeWhole(store, entries);
        return store.transaction(async (tx) => {
          await this.#writeWhole(tx, entries);
          await alsoCommit(tx);
        });
      }),
    );
    this.#journal.set(key, value as Json);
  }

  /**
   * Journals an entry with the next commit of this attempt, whatever that commits; a step with the next one that archives
   * its events, and the outcome of a call with the next one after its result is written. Use it only for what a later
   * attempt can make again at no cost: if this attempt ends before that commit, the entry is lost.
   */
  journalLater<T>(key: JournalKey<T>, value: T): void {
    this.#deferred.add(this.#entry(key, value as Json));
    this.#journal.set(key, value as Json);
  }

  /** Commits deferred entries, except a step. */
  async commitDeferred(): Promise<void> {
    if (![...this.#deferred].some(isAlone)) return;
    await this.#withDeferred(null, (entries) =>
      this.#write(() => this.#writeWhole(this.context.store, entries)),
    );
  }

  /** Commits a deferred step. Call it before work that takes long, because the step is paid for. */
  async commitLastStep(): Promise<void> {
    if (![...this.#deferred].every(isAlone)) await this.#archive(null);
  }

  /**
   * Commits deferred outcomes whose results don't show all of them. Call it before the end of the main run is written:
   * after that, a later attempt keeps all results, and has only their events.
   */
  async commitHiddenOutcomes(): Promise<void> {
    const { turn } = this;
    const isHidden = (entry: NewJournalEntry): boolean => isRetained(entry.key) && !isShown(entry, turn);
    if (![...this.#deferred].some(isHidden)) return;
    await this.#archive(null);
    await this.commitDeferred();
  }

  /** Their events are not archived yet, so that the entries can't refer to them. */
  async #writeWhole(to: Store, entries: readonly NewJournalEntry[]): Promise<void> {
    await to.journal.write(this.ref, ...entries);
    for (const key of listWholeResults(entries)) this.#wholeResults.add(key);
  }

  /** Deletes what no later turn reads. The archive has the whole turn, so that all results can refer to it. */
  async closeJournal(tx: Store): Promise<void> {
    const { ref, turn } = this;
    const whole = [...this.#wholeResults].flatMap((key) => {
      const value = this.#journal.get(key);
      return value === undefined ? [] : [{ key, value }];
    });
    const entries = whole.map((entry) => referToResult(entry, turn)).filter((entry, n) => entry !== whole[n]);
    await tx.journal.close(ref, turn.id, entries);
  }

  /** If the commit fails, the next one writes the deferred entries. A repeat changes nothing. */
  async #withDeferred<T>(
    entry: NewJournalEntry | null,
    commit: (entries: readonly NewJournalEntry[]) => Promise<T>,
    isIncluded: (entry: NewJournalEntry) => boolean = isAlone,
  ): Promise<T> {
    const deferred = [...this.#deferred].filter(isIncluded);
    const entries = entry === null ? deferred : [...deferred, entry];
    const result = await commit(entries);
    for (const written of deferred) this.#deferred.delete(written);
    for (const { after = [] } of entries) for (const key of after) this.#newest.delete(key);
    for (const { key } of entries.slice(-1)) this.#newest.add(key);
    return result;
  }

  /** Records usage that belongs to no journaled step, so that later attempts count it too. */
  async recordUsage(path: string, what: string, spent: UsageRecord): Promise<void> {
    if (spent.usage.calls === 0) return;
    await this.journal(usageKey(path, `${this.epoch}.${what}`), spent);
    this.usage.add(path, spent);
  }

  /**
   * Journals an entry in the caller's transaction. The transaction fails if another attempt has superseded this one.
   */
  async journalIn<T>(tx: Store, key: JournalKey<T>, value: T): Promise<void> {
    await tx.journal.write(this.ref, this.#entry(key, value as Json));
  }

  /** Waits until all events are in the log. A log that can't be reached must not delay the hand-over of the turn. */
  flush(): Promise<Position | null> {
    return abortable(this.writer.flush(), this.#handOver.signal);
  }

  /** Journals a step whose events are already written, together with the archive of these events. */
  async commitStep<T>(key: JournalKey<T>, value: T, alsoCommit?: AlsoCommit): Promise<void> {
    await this.#archive(this.#entry(key, value as Json), alsoCommit);
    this.#journal.set(key, value as Json);
  }

  /** Flushes the writer, archives the log and runs `write` in the same transaction. @returns the archived position */
  archive(write: AlsoCommit): Promise<Cursor> {
    return this.#archive(null, write);
  }

  /** Like `archive`, for the commit that ends the turn. It writes no deferred entry that the end would delete. */
  async archiveEnd(write: AlsoCommit): Promise<Cursor> {
    const archived = await this.#archive(null, write, ({ key }) => isRetained(key));
    this.#deferred.clear();
    return archived;
  }

  async #archive(
    entry: NewJournalEntry | null,
    write?: AlsoCommit,
    isIncluded: (entry: NewJournalEntry) => boolean = () => true,
  ): Promise<Cursor> {
    const { turn } = this;
    const atLeast = await this.flush();
    return this.#withDeferred(
      entry,
      (entries) => this.#write(() => this.#archiver.archive(write, { entries, atLeast })),
      // The next commit can refer to a result that is not written yet.
      (deferred) => isIncluded(deferred) && !lacksResult(deferred.key, turn),
    );
  }

  /** Retries while the store is unavailable: a restart would only repeat what this attempt has done. */
  #write<T>(work: () => Promise<T>): Promise<T> {
    const writeWithLease = async (): Promise<T> => {
      await this.requireLease();
      return work();
    };
    return retryStore(this.context, writeWithLease, this.toolSignal);
  }

  /** An entry with usage adds it to the running turn, so that other turns of the same user count it at once. */
  #entry(key: string, value: Json): NewJournalEntry {
    const record = findUsage(key, value)?.record;
    const used = record && { tokens: record.usage.total_tokens, cost: record.cost };
    const { row, epoch, context } = this;
    const fence = { turn: row.turn, epoch, executor: context.executor, after: [...this.#newest] };
    return { ...fence, key, value, isRetained: isRetained(key), ...(used && { used }) };
  }
}

/** Returns false for a step, which is never journaled without its events. */
function isAlone({ key }: NewJournalEntry): boolean {
  return !key.startsWith(STEP_PREFIX);
}
