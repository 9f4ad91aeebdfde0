/**
 * `Joiner`, `Owner` and `WriterOwner` write through faults as an application would: they repeat ambiguous appends,
 * claim a new epoch when the log requires it, and record every answer in the ledger. Do not read the log.
 */
import { setTimeout as sleep } from "node:timers/promises";
import type { EventDraft } from "@turnstream/protocol/writer";
import type { Backend, SessionRef } from "@turnstream/server";
import { type Claimed, claimSession, Writer } from "@turnstream/server/internal";
import { isLogError } from "@turnstream/server/ports";
import { type Ledger, type WriterRecord, makeText, createTitle } from "./ledger.ts";

export interface Tally {
  acknowledged: number;
  /** Appends that were cut off in flight. */
  ambiguous: number;
  /** Those of them that had succeeded. */
  repeated: number;
  /** Appends that were refused until a new claim. */
  unclaimed: number;
  claims: number;
}

export interface Setting {
  readonly backend: Backend;
  readonly ref: SessionRef;
  readonly name: string;
  readonly ledger: Ledger;
  readonly tally: Tally;
  readonly random: () => number;
  /** The longest pause between two appends. */
  readonly restMs: number;
}

interface LoadWriter {
  /** How many answers it has received. */
  readonly answers: number;
  /** Writes until the signal aborts and the pending append is settled. */
  work(signal: AbortSignal): Promise<void>;
}

const RETRY_MS = 10;

/**
 * Sends a batch until its outcome is known. @returns false if an owner's batch was refused because the log is unclaimed
 */
async function settle(setting: Setting, counter: number, writer: string, epoch?: number): Promise<boolean> {
  const { backend, ref, tally, ledger, random } = setting;
  const size = 1 + Math.floor(random() * 3);
  const texts = Array.from({ length: size }, (_, n) => makeText(writer, counter, n, size));
  const batch = {
    writer,
    counter,
    events: texts.map(createTitle),
    ...(epoch === undefined ? {} : { epoch }),
  };
  for (let repeat = false; ;) {
    try {
      const done = await backend.log.append(ref, { ...batch, isRetry: repeat });
      ledger.acknowledge(done.epoch, done.first, texts);
      tally.acknowledged += size;
      if (done.repeated) tally.repeated++;
      return true;
    } catch (error) {
      if (isLogError(error, "UNAVAILABLE")) {
        tally.ambiguous++;
        repeat = true;
      } else if (isLogError(error, "UNCLAIMED")) {
        tally.unclaimed++;
        if (epoch !== undefined) return false;
      } else throw error;
      await sleep(RETRY_MS);
    }
  }
}

/** Joins the current epoch like a gateway, and waits while the log is unclaimed. */
export class Joiner implements LoadWriter {
  answers = 0;
  readonly #setting: Setting;
  #counter = 0;

  constructor(setting: Setting) {
    this.#setting = setting;
  }

  async work(signal: AbortSignal): Promise<void> {
    const { name, restMs, random } = this.#setting;
    while (!signal.aborted) {
      await settle(this.#setting, ++this.#counter, name);
      this.answers++;
      await sleep(random() * restMs);
    }
  }
}

/** Owns the session's epoch, and claims a new one when the log is unclaimed. */
export class Owner implements LoadWriter {
  answers = 0;
  readonly setting: Setting;
  #claimed: Claimed | null = null;
  #hasStarted = false;
  #counter = 0;

  constructor(setting: Setting) {
    this.setting = setting;
  }

  get claimed(): Claimed | null {
    return this.#claimed;
  }

  async work(signal: AbortSignal): Promise<void> {
    const { restMs, random } = this.setting;
    while (!signal.aborted) {
      const claimed = this.#claimed ?? (await this.claim());
      if (await this.write(claimed)) this.answers++;
      else this.#claimed = null;
      await sleep(random() * restMs);
    }
  }

  async claim(): Promise<Claimed> {
    const { backend, ref, name, ledger, tally } = this.setting;
    const event: EventDraft = this.#hasStarted
      ? { type: "turn.takeover", turn: null, blocks: [], groups: [], runs: [] }
      : { type: "session.start", session: ref.session, number: 1 };
    while (true) {
      try {
        const claimed = await claimSession(backend, ref, { by: name, reason: "chaos", event });
        ledger.acks.push({ cursor: claimed.cursor, text: event.type });
        tally.claims++;
        this.#hasStarted = true;
        this.#claimed = claimed;
        this.begin(claimed);
        return claimed;
      } catch (error) {
        if (!isLogError(error, "UNAVAILABLE")) throw error;
        await sleep(RETRY_MS);
      }
    }
  }

  protected begin(_claimed: Claimed): void {
    this.#counter = 0;
  }

  /** @returns false if the log is unclaimed */
  protected write({ writer, epoch }: Claimed): Promise<boolean> {
    return settle(this.setting, ++this.#counter, writer, epoch);
  }
}

/** An owner that writes through a `Writer`: ascending numbers, mostly as deltas of one block. */
export class WriterOwner extends Owner {
  #writer: Writer | null = null;
  #record: WriterRecord | null = null;

  get writerName(): string | null {
    return this.#record?.name ?? null;
  }

  protected override begin({ writer, epoch }: Claimed): void {
    const { backend, ref, ledger } = this.setting;
    this.#record = ledger.writerRecord(writer);
    this.#writer = new Writer({
      log: backend.log,
      ref,
      writer,
      epoch,
      batchDelayMs: 5,
      retryMs: RETRY_MS,
      blobs: { put: () => Promise.reject(new Error("nothing here is large")) },
      newBlobId: () => "none",
    });
  }

  protected override async write(claimed: Claimed): Promise<boolean> {
    const { random, tally } = this.setting;
    const [writer, record] = [this.#writer, this.#record];
    if (writer === null || record === null) throw new Error("the writer has not claimed yet");
    try {
      for (let left = 1 + Math.floor(random() * 4); left > 0; left--) {
        const word = `${++record.written};`;
        await writer.write(
          random() < 0.2 ? createTitle(`${claimed.writer}~${word}`) : delta(claimed.writer, word),
        );
      }
      const upTo = record.written;
      await writer.flush();
      tally.acknowledged += upTo - record.flushed;
      record.flushed = upTo;
      return true;
    } catch (error) {
      if (!isLogError(error, "UNCLAIMED")) throw error;
      tally.unclaimed++;
      return false;
    }
  }
}

function delta(block: string, text: string): EventDraft {
  return { type: "text.delta", turn: "t", run: "main", block, index: 0, text };
}
