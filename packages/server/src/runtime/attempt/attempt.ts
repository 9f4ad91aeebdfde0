/**
 * One attempt at a turn: a claimed epoch, a pen, the journal as it is, and a way to stop all its branches. A worker has at
 * most one per turn; whoever begins another has made void what this one did not journal. Never decides what to do next.
 */
import type { Json, Turn } from "@turnstream/protocol";
import { EngineError } from "../../engine/errors.ts";
import type { NewJournalEntry, RunningTurn } from "../../store/ports/running.ts";
import type { SessionRef } from "../../store/refs.ts";
import type { Store } from "../../store/store.ts";
import { Archiver } from "./archiver.ts";
import { type JournalKey, type UsageRecord, usageKey } from "./journal-entries.ts";
import type { RuntimeContext } from "./context.ts";
import { PausableTimer } from "../../util/pausable-timer.ts";
import type { TurnWriter } from "../events/turn-writer.ts";
import { retryStore } from "./retry-store.ts";
import { ReferenceIdAllocator } from "./reference-pool.ts";
import { UsageTracker } from "./usage.ts";

/** How often a step was tried in this process, and when to try it again. */
export interface StepAttempts {
  /** How often the model failed. */
  readonly modelFailures: number;
  /** How often it answered, and the answer could not be kept. */
  readonly unsavedAnswers: number;
  readonly nextAt: number;
}

interface JournalOptions {
  /** Whether the entry stays when the turn has ended: later turns read it. */
  readonly isRetained?: boolean;
  /** What belongs to the same commit. */
  readonly alsoCommit?: (tx: Store) => Promise<void>;
}

export interface TurnAttemptOptions {
  readonly context: RuntimeContext;
  readonly row: RunningTurn;
  readonly epoch: number;
  readonly writer: TurnWriter;
  readonly journal: Map<string, Json>;
  readonly stepAttempts: Map<string, StepAttempts>;
}

export class TurnAttempt {
  readonly context: RuntimeContext;
  readonly row: RunningTurn;
  readonly ref: SessionRef;
  readonly epoch: number;
  readonly writer: TurnWriter;
  readonly stepAttempts: Map<string, StepAttempts>;
  readonly usage: UsageTracker;
  readonly references: ReferenceIdAllocator;
  readonly #journal: Map<string, Json>;
  readonly #work = new AbortController();
  readonly #tools = new AbortController();
  readonly #clock = new PausableTimer();
  readonly #archiver: Archiver;

  constructor(options: TurnAttemptOptions) {
    this.context = options.context;
    this.row = options.row;
    this.ref = { tenant: options.row.tenant, session: options.row.session };
    this.epoch = options.epoch;
    this.writer = options.writer;
    this.stepAttempts = options.stepAttempts;
    this.usage = UsageTracker.from(options.journal);
    this.references = ReferenceIdAllocator.from(options.journal);
    this.#journal = options.journal;
    this.#archiver = new Archiver(options.context, this.ref);
  }

  get turn(): Turn {
    return this.writer.turn;
  }

  /** Aborted when the branches of this attempt have to stop. */
  get signal(): AbortSignal {
    return this.#work.signal;
  }

  /** The same for tools that run; those that can't be run again get a little longer when the worker hands over. */
  get toolSignal(): AbortSignal {
    return this.#tools.signal;
  }

  /** @param graceMs how long tools that can't be run again may go on; Infinity: until they are done */
  abort(reason: unknown, graceMs = 0): void {
    if (!this.#work.signal.aborted) this.#work.abort(reason);
    if (graceMs === 0) this.#tools.abort(reason);
    else if (graceMs !== Infinity) setTimeout(() => this.#tools.abort(reason), graceMs).unref();
  }

  /** Time in which a person is waited for doesn't count against the turn's own. */
  readonly whileWaiting = async <T>(wait: () => Promise<T>): Promise<T> => {
    this.#clock.pause();
    try {
      return await wait();
    } finally {
      this.#clock.resume();
    }
  };

  /** @param leftMs how long the branches may go on, waiting for people left out */
  setDeadline(leftMs: number, reason: () => unknown): void {
    this.#clock.start(leftMs, () => this.abort(reason()));
  }

  stopClock(): void {
    this.#clock.stop();
  }

  /**
   * Throws once the lease may have run out. A process that was frozen knows that before it commits anything, also where
   * nobody has taken its turn over yet.
   */
  requireLease(): void {
    if (!this.context.holdsLease()) throw new EngineError("LEFT", `turn ${this.row.turn}`);
  }

  fromJournal<T>(key: JournalKey<T>): T | undefined {
    return this.#journal.get(key) as T | undefined;
  }

  /** Journals a record on its own: before it is told, so that whoever comes next can tell it. */
  async journal<T>(
    key: JournalKey<T>,
    value: T,
    { isRetained = false, alsoCommit }: JournalOptions = {},
  ): Promise<void> {
    this.requireLease();
    const { store } = this.context;
    const entry = this.#entry(key, value as Json, isRetained);
    await retryStore(this.context, async () => {
      if (alsoCommit === undefined) return store.journal.write(this.ref, entry);
      return store.transaction(async (tx) => {
        await tx.journal.write(this.ref, entry);
        await alsoCommit(tx);
      });
    });
    this.#journal.set(key, value as Json);
  }

  /** Counts what was spent on something that is no journaled step, so that whoever goes on counts it too. */
  async recordUsage(path: string, what: string, spent: UsageRecord): Promise<void> {
    if (spent.usage.calls === 0) return;
    await this.journal(usageKey(path, `${this.epoch}.${what}`), spent);
    this.usage.add(path, spent);
  }

  /** Journals a record in a commit that does more: whoever was superseded can't make it. */
  async journalIn<T>(tx: Store, key: JournalKey<T>, value: T): Promise<void> {
    await tx.journal.write(this.ref, this.#entry(key, value as Json, false));
  }

  /** Journals a step that is told already, together with the archive of what it told. */
  async commitStep<T>(key: JournalKey<T>, value: T, options: JournalOptions = {}): Promise<void> {
    const { isRetained = false, alsoCommit } = options;
    await this.archive(async (tx) => {
      await alsoCommit?.(tx);
      await tx.journal.write(this.ref, this.#entry(key, value as Json, isRetained));
    });
    this.#journal.set(key, value as Json);
  }

  /** Archives what is in the log, and does the rest in the same commit. */
  async archive(commit: (tx: Store) => Promise<void>): Promise<void> {
    const flushedTo = await this.writer.flush();
    this.requireLease();
    await this.#archiver.archive(commit, flushedTo);
  }

  #entry(key: string, value: Json, isRetained: boolean): NewJournalEntry {
    return { turn: this.row.turn, key, value, epoch: this.epoch, isRetained };
  }
}
