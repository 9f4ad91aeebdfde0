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
import { retryStore } from "../retry-store.ts";
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

interface NoteOptions {
  readonly kept?: boolean;
  /** What else belongs to the commit. */
  readonly also?: (tx: Store) => Promise<void>;
}

export interface TurnAttemptOptions {
  readonly parts: RuntimeContext;
  readonly row: RunningTurn;
  readonly epoch: number;
  readonly pen: TurnWriter;
  readonly journal: Map<string, Json>;
  readonly tries: Map<string, StepAttempts>;
}

interface StepOptions {
  readonly kept?: boolean;
  /** What is committed with it. */
  readonly also?: (tx: Store) => Promise<void>;
}

export class TurnAttempt {
  readonly parts: RuntimeContext;
  readonly row: RunningTurn;
  readonly ref: SessionRef;
  readonly epoch: number;
  readonly pen: TurnWriter;
  readonly tries: Map<string, StepAttempts>;
  readonly spending: UsageTracker;
  readonly references: ReferenceIdAllocator;
  readonly #journal: Map<string, Json>;
  readonly #work = new AbortController();
  readonly #tools = new AbortController();
  readonly #clock = new PausableTimer();
  readonly #archiver: Archiver;

  constructor(options: TurnAttemptOptions) {
    this.parts = options.parts;
    this.row = options.row;
    this.ref = { tenant: options.row.tenant, session: options.row.session };
    this.epoch = options.epoch;
    this.pen = options.pen;
    this.tries = options.tries;
    this.spending = UsageTracker.from(options.journal);
    this.references = ReferenceIdAllocator.from(options.journal);
    this.#journal = options.journal;
    this.#archiver = new Archiver(options.parts, this.ref);
  }

  get turn(): Turn {
    return this.pen.turn;
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
    if (!this.parts.holdsLease()) throw new EngineError("LEFT", `turn ${this.row.turn}`);
  }

  fromJournal<T>(key: JournalKey<T>): T | undefined {
    return this.#journal.get(key) as T | undefined;
  }

  /** Journals a fact on its own: before it is told, so that whoever comes next can tell it. */
  async journal<T>(key: JournalKey<T>, value: T, { kept = false, also }: NoteOptions = {}): Promise<void> {
    this.requireLease();
    const { store } = this.parts;
    const entry = this.#entry(key, value as Json, kept);
    await retryStore(this.parts, async () => {
      if (also === undefined) return store.journal.write(this.ref, entry);
      return store.transaction(async (tx) => {
        await tx.journal.write(this.ref, entry);
        await also(tx);
      });
    });
    this.#journal.set(key, value as Json);
  }

  /** Counts what was spent on something that is no journaled step, so that whoever goes on counts it too. */
  async recordUsage(path: string, what: string, spent: UsageRecord): Promise<void> {
    if (spent.usage.calls === 0) return;
    await this.journal(usageKey(path, `${this.epoch}.${what}`), spent);
    this.spending.add(path, spent);
  }

  /** Journals a fact in a commit that does more: whoever was superseded can't make it. */
  async journalIn<T>(tx: Store, key: JournalKey<T>, value: T): Promise<void> {
    await tx.journal.write(this.ref, this.#entry(key, value as Json, false));
  }

  /** Journals a step that is told already, together with the archive of what it told. */
  async commitStep<T>(key: JournalKey<T>, value: T, options: StepOptions = {}): Promise<void> {
    const { kept = false, also } = options;
    await this.archive(async (tx) => {
      await also?.(tx);
      await tx.journal.write(this.ref, this.#entry(key, value as Json, kept));
    });
    this.#journal.set(key, value as Json);
  }

  /** Archives what is in the log, and does the rest in the same commit. */
  async archive(commit: (tx: Store) => Promise<void>): Promise<void> {
    const told = await this.pen.flush();
    this.requireLease();
    await this.#archiver.archive(commit, told);
  }

  #entry(key: string, value: Json, isRetained: boolean): NewJournalEntry {
    return { turn: this.row.turn, key, value, epoch: this.epoch, isRetained };
  }
}
