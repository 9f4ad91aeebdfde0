/**
 * `SessionLoad` uses one session of a log as an application does: an owner streams through a `Writer`, a joiner appends
 * without an epoch, and readers follow.
 *
 * Invariant: everything goes through recorded logs, so that `checkHistory` sees it. A reader never fills a gap by itself,
 * so that a silent loss stays visible.
 */
import { setTimeout as sleep } from "node:timers/promises";
import type { EventDraft } from "@turnstream/protocol/writer";
import type { SessionRef } from "@turnstream/server";
import {
  archiveSession,
  type Claimed,
  claimSession,
  isLogError,
  type Log,
  type Store,
  Writer,
} from "@turnstream/server/internal";
import type { Operation } from "@turnstream/testkit/history/check-history.ts";
import { recordLog } from "@turnstream/testkit/history/record-history.ts";
import type { Random } from "@turnstream/testkit/util/seeded-random.ts";

export interface LoadOptions {
  readonly store: Store;
  /** Each log has its own connections, as if it were in its own process. */
  readonly owners: Log;
  readonly joiners: Log;
  readonly readers: readonly Log[];
  readonly random: Random;
}

export interface LoadReader {
  /** The last position that it has received. */
  position: string;
  /** When it was first told to reload, by `performance.now()`. */
  toldAt: number | null;
}

export const TENANT = "chaos";
const RETRY_MS = 10;
/** The longest pauses between two appends. */
const OWNER_PAUSE_MS = 8;
const JOINER_PAUSE_MS = 20;

export class SessionLoad {
  readonly ref: SessionRef;
  readonly history: Operation[] = [];
  /** One for each of `LoadOptions.readers`. */
  readonly readers: LoadReader[] = [];
  /** The owner's log, recorded. */
  readonly log: Log;
  /** The owner's newest claim. */
  claimed: Claimed | null = null;
  /** The work of both writers, which fails if one of them does. Null before `start`. */
  working: Promise<unknown> | null = null;
  /** How many appends were acknowledged to each writer. */
  readonly answers = { owner: 0, joiner: 0 };
  readonly #options: LoadOptions;
  readonly #writers = new AbortController();
  readonly #reading = new AbortController();
  #following: readonly Promise<void>[] = [];

  private constructor(options: LoadOptions, session: string) {
    this.#options = options;
    this.ref = { tenant: TENANT, session };
    this.log = this.#record(options.owners, "owner");
  }

  /** Creates a session with a log. Its readers follow, and nothing is written before `start`. */
  static async create(options: LoadOptions, session: string): Promise<SessionLoad> {
    await options.store.sessions.create({ tenant: TENANT, user: "chaos" }, { id: session });
    const load = new SessionLoad(options, session);
    await load.#claim({ type: "session.start", session, number: 1 });
    load.#following = options.readers.map((log, n) => load.#follow(load.#record(log, `reader${n}`), n));
    return load;
  }

  /** The owner takes the session over, and both writers write until `settle`. */
  start(): void {
    this.working ??= Promise.all([this.#own(), this.#join(this.#record(this.#options.joiners, "joiner"))]);
    // `settle` reports the failure.
    this.working.catch(() => undefined);
  }

  /** Lets both writers finish their current appends. */
  async settle(): Promise<void> {
    this.#writers.abort();
    await this.working;
  }

  async archive(): Promise<void> {
    await archiveSession({ store: this.#options.store, log: this.log }, this.ref);
  }

  /** Ends everything, also after a failure. */
  async stop(): Promise<void> {
    this.#writers.abort();
    this.#reading.abort();
    await Promise.all(this.#following);
  }

  #record(log: Log, name: string): Log {
    return recordLog(log, `${this.ref.session}/${name}`, (operation) => this.history.push(operation));
  }

  async #claim(event: EventDraft): Promise<Claimed> {
    const backend = { store: this.#options.store, log: this.log };
    this.claimed = await claimSession(backend, this.ref, { by: "owner", event });
    return this.claimed;
  }

  async #own(): Promise<void> {
    while (!this.#writers.signal.aborted) {
      try {
        const claimed = await this.#claim({
          type: "turn.takeover",
          turn: null,
          blocks: [],
          groups: [],
          runs: [],
        });
        await this.#stream(createWriter(this.log, this.ref, claimed));
      } catch (error) {
        if (!isLogError(error, "UNCLAIMED") && !isLogError(error, "UNAVAILABLE")) throw error;
        await sleep(RETRY_MS);
      }
    }
  }

  async #stream(writer: Writer): Promise<void> {
    const { random } = this.#options;
    for (let n = 1; !this.#writers.signal.aborted; n++) {
      for (let left = 1 + Math.floor(random() * 4); left > 0; left--)
        await writer.write(random() < 0.3 ? createTitle(`${n}`) : createDelta(`${n}-${left}`));
      await writer.flush();
      this.answers.owner++;
      await sleep(random() * OWNER_PAUSE_MS);
    }
  }

  /** Repeats each append until it is acknowledged, as a relay does with a row of the outbox. */
  async #join(log: Log): Promise<void> {
    const { random } = this.#options;
    for (let counter = 1; !this.#writers.signal.aborted; counter++) {
      const size = 1 + Math.floor(random() * 3);
      const events = Array.from({ length: size }, (_, n) => createTitle(`${counter}-${n}`));
      await this.#appendOnce(log, { writer: "joiner", counter, events });
      await sleep(random() * JOINER_PAUSE_MS);
    }
  }

  async #appendOnce(log: Log, batch: Parameters<Log["append"]>[1]): Promise<void> {
    let isUnanswered = false;
    for (let isRetry = false; isUnanswered || !this.#writers.signal.aborted; isRetry = true) {
      try {
        await log.append(this.ref, { ...batch, isRetry });
        this.answers.joiner++;
        return;
      } catch (error) {
        isUnanswered = isLogError(error, "UNAVAILABLE");
        if (!isUnanswered && !isLogError(error, "UNCLAIMED")) throw error;
        await sleep(RETRY_MS);
      }
    }
  }

  /** Reads from the end of the archive, again whenever it is told to. */
  async #follow(log: Log, n: number): Promise<void> {
    const reader: LoadReader = { position: "0-0", toldAt: null };
    this.readers[n] = reader;
    const { signal } = this.#reading;
    while (!signal.aborted) {
      const { archived } = await this.#options.store.archive.header(this.ref);
      reader.position = archived;
      for await (const delivery of log.attach(this.ref, {
        after: archived,
        readFloor: async () => archived,
        signal,
      })) {
        if (delivery.type === "end") reader.toldAt ??= performance.now();
        else reader.position = delivery.entries.at(-1)?.cursor ?? reader.position;
      }
    }
  }
}

export function createWriter(
  log: Log,
  ref: SessionRef,
  { writer, epoch }: Pick<Claimed, "writer" | "epoch">,
): Writer {
  const blobs = { put: () => Promise.reject(new Error("nothing here is large")) };
  return new Writer({
    log,
    ref,
    writer,
    epoch,
    blobs,
    newBlobId: () => "none",
    batchDelayMs: 5,
    retryMs: RETRY_MS,
  });
}

export function createTitle(title: string): EventDraft {
  return { type: "session.update", title };
}

/** Each is of another block, because the archive merges deltas of one block. */
function createDelta(text: string): EventDraft {
  return { type: "text.delta", turn: "t", run: "main", block: text, index: 0, text };
}
