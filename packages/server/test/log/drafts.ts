/** Event drafts and helpers that the tests of the log share. */
import { randomUUID } from "node:crypto";
import type { Cursor } from "@turnstream/protocol";
import type { EventDraft } from "@turnstream/protocol/writer";
import type { LogEntry } from "../../src/log/entry.ts";
import { isLogError } from "../../src/log/errors.ts";
import type { AppendResult, AttachOptions, LogDelivery, FollowEndReason, Log } from "../../src/log/log.ts";
import type { SessionRef } from "../../src/util/refs.ts";

export function sessionStart({ session }: SessionRef): EventDraft {
  return { type: "session.start", session, number: 1 };
}

export function takeover(): EventDraft {
  return { type: "turn.takeover", turn: null, blocks: [], groups: [], runs: [] };
}

/** An event with a text of its own, so that a test can recognize it. */
export function title(text: string): EventDraft {
  return { type: "session.update", title: text };
}

export function titles(...texts: string[]): EventDraft[] {
  return texts.map(title);
}

/** A session of the tenant `t`. */
export function sessionRef(session: string = randomUUID()): SessionRef {
  return { tenant: "t", session };
}

/** Starts a session whose log starts in epoch 7, claimed by writer `w1`. */
export async function startSession(log: Log, ref: SessionRef = sessionRef()): Promise<SessionRef> {
  const event = sessionStart(ref);
  await log.claim(ref, { epoch: 7, writer: "w1", event, archivedUpTo: "0-0" });
  return ref;
}

/** Returns the error code with which the log refuses `work`. Throws if the log accepts it. */
export async function refusal(work: Promise<unknown>): Promise<string> {
  const outcome: unknown = await work.catch((caught: unknown) => caught);
  if (!isLogError(outcome)) throw new Error(`not refused: ${JSON.stringify(outcome)}`);
  return outcome.code;
}

/** A short form of an entry: its title, or its event type. */
export function describeEntry(entry: LogEntry): string {
  const { event } = entry;
  return event.type === "session.update" ? event.title : event.type;
}

export function lastCursor({ epoch, last }: AppendResult): Cursor {
  return `${epoch}-${last}`;
}

export async function readAll(log: Log, session: SessionRef, after: Cursor = "0-0"): Promise<LogEntry[]> {
  const all: LogEntry[] = [];
  let cursor = after;
  while (true) {
    const page = await log.read(session, { after: cursor, limit: 100 });
    if (!page.ok) throw new Error(`bad cursor ${cursor}: ${page.reason}`);
    all.push(...page.entries);
    cursor = all.at(-1)?.cursor ?? after;
    if (!page.more) return all;
  }
}

/** A reader that collects the entries it receives. */
export class Reader {
  readonly entries: LogEntry[] = [];
  end: FollowEndReason | null = null;
  stopped = false;
  readonly #aborted = new AbortController();
  readonly done: Promise<void>;
  #changed: () => void = () => undefined;

  constructor(
    log: Log,
    session: SessionRef,
    options: Omit<AttachOptions, "signal">,
    way: "attach" | "listen" = "attach",
  ) {
    const all = { ...options, signal: this.#aborted.signal };
    this.done =
      way === "attach"
        ? this.#follow(log.attach(session, all))
        : log.listen(session, all, (delivery) => this.#take(delivery));
    this.done.catch(() => undefined);
  }

  get texts(): string[] {
    return this.entries.map(describeEntry);
  }

  get cursors(): Cursor[] {
    return this.entries.map((entry) => entry.cursor);
  }

  /** Waits until `holds` returns true. Throws after `ms`. */
  async until(holds: (reader: Reader) => boolean, ms = 40_000): Promise<void> {
    const late = AbortSignal.timeout(ms);
    while (!holds(this)) {
      if (late.aborted) throw new Error(`timed out; got ${this.texts.join(" ")}, end ${this.end}`);
      await new Promise<void>((resolve) => {
        const timer = setTimeout(resolve, 50);
        this.#changed = () => {
          clearTimeout(timer);
          resolve();
        };
      });
    }
  }

  async stop(): Promise<void> {
    this.stopped = true;
    this.#aborted.abort();
    await this.done;
  }

  async #follow(stream: AsyncIterable<LogDelivery>): Promise<void> {
    for await (const delivery of stream) this.#take(delivery);
  }

  #take(delivery: LogDelivery): void {
    if (delivery.type === "entries") this.entries.push(...delivery.entries);
    else this.end = delivery.reason;
    this.#changed();
  }
}
