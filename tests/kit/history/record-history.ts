/**
 * `recordLog` makes a log record every append and every read, for `checkHistory`. `HistoryFolder` has one file for each
 * process, so that a process can be killed at any moment.
 *
 * Invariant: an append is recorded before it is sent, and a read before its reader gets it.
 */
import { createHash } from "node:crypto";
import { appendFileSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import type { SessionRef } from "@turnstream/server";
import {
  type AppendResult,
  type AttachOptions,
  isLogError,
  type Log,
  type LogDelivery,
  type LogEntry,
} from "@turnstream/server/internal";
import { makeFolder, removeFolder } from "../processes/watch.ts";
import type { HistoryEntry, Operation } from "./check-history.ts";

type Draft = Parameters<Log["append"]>[1]["events"][number];
type Record = (operation: Operation) => void;

/** @param process distinguishes the readers of one process from those of others */
export function recordLog(log: Log, process: string, record: Record): Log {
  let readers = 0;

  function follow({ session }: SessionRef, after: string) {
    const reader = `${process}/${++readers}`;
    record({ type: "follow", reader, session, after });
    return {
      take(delivery: LogDelivery) {
        if (delivery.type === "end") record({ type: "told", reader, reason: delivery.reason });
        else record({ type: "read", reader, entries: delivery.entries.map(describe) });
      },
      leave: () => record({ type: "left", reader }),
    };
  }

  async function write(
    { session }: SessionRef,
    key: string,
    isRetry: boolean,
    send: () => Promise<AppendResult>,
  ): Promise<AppendResult> {
    try {
      const done = await send();
      const { epoch, first, repeated } = done;
      record({ type: "acknowledged", session, key, first: `${epoch}-${first}`, repeated });
      return done;
    } catch (error) {
      const isRefusal = isLogError(error) && error.code !== "UNAVAILABLE" && !isRetry;
      if (isRefusal) record({ type: "refused", session, key });
      throw error;
    }
  }

  const recording: Pick<Log, "claim" | "append" | "read" | "attach" | "listen"> = {
    async claim(ref, claim) {
      const { writer, epoch, event, isRetry = false } = claim;
      const key = `${writer}:0`;
      const bodies = [digest(JSON.stringify(event))];
      record({ type: "write", session: ref.session, key, writer, bodies, epoch, isClaim: true });
      return write(ref, key, isRetry, () => log.claim(ref, claim));
    },
    async append(ref, batch) {
      const { writer, counter, events, epoch = null, isRetry = false } = batch;
      const key = `${writer}:${counter}`;
      const bodies = events.map((event: Draft) => digest(JSON.stringify(event)));
      record({ type: "write", session: ref.session, key, writer, bodies, epoch, isClaim: false });
      return write(ref, key, isRetry, () => log.append(ref, batch));
    },
    async read(ref, range) {
      const page = await log.read(ref, range);
      if (!page.ok) return page;
      const reader = follow(ref, range.after);
      if (page.entries.length > 0) reader.take({ type: "entries", entries: page.entries });
      reader.leave();
      return page;
    },
    async *attach(ref, options: AttachOptions) {
      const reader = follow(ref, options.after);
      let isTold = false;
      try {
        for await (const delivery of log.attach(ref, options)) {
          reader.take(delivery);
          isTold ||= delivery.type === "end";
          yield delivery;
        }
      } finally {
        if (!isTold) reader.leave();
      }
    },
    async listen(ref, options, listener) {
      const reader = follow(ref, options.after);
      let isTold = false;
      await log.listen(ref, options, (delivery) => {
        reader.take(delivery);
        isTold ||= delivery.type === "end";
        listener(delivery);
      });
      if (!isTold) reader.leave();
    },
  };
  // Everything else, also its getters, stays that of the log.
  return Object.assign(Object.create(log) as Log, recording);
}

/**
 * Records the whole log of a session, as the list with which all reads are compared. Without a log it is empty.
 * @param archived the archived position, if a failover may have lost entries that are archived
 */
export async function recordFinal(
  log: Log,
  ref: SessionRef,
  record: Record,
  archived?: string,
): Promise<void> {
  const head = await log.head(ref);
  const base = head?.base ?? "0-0";
  const entries: HistoryEntry[] = [];
  for (let after = base, isMore = head !== null; isMore;) {
    const page = await log.read(ref, { after });
    if (!page.ok) throw new Error(`the log of ${ref.session} can't be read: ${page.reason}`);
    entries.push(...page.entries.map(describe));
    after = page.entries.at(-1)?.cursor ?? after;
    isMore = page.more;
  }
  record({
    type: "final",
    session: ref.session,
    base,
    entries,
    ...(archived === undefined ? {} : { archived }),
  });
}

/** @param entry an entry of a log, or an archived event with its key */
export function describe(entry: Pick<LogEntry, "cursor" | "key" | "text">): HistoryEntry {
  return { position: entry.cursor, key: entry.key, body: digest(entry.text.replace(STAMP, "{")) };
}

/** The fields that the log adds in front of those of the draft. */
const STAMP = /^\{"id":"[^"]*","v":\d+,"at":\d+,/;

function digest(text: string): string {
  return createHash("sha256").update(text).digest("base64url").slice(0, 12);
}

export class HistoryFolder {
  readonly path: string;

  constructor(path: string) {
    this.path = path;
  }

  static async make(): Promise<HistoryFolder> {
    return new HistoryFolder(await makeFolder("history"));
  }

  /** Returns a function that records the operations of one process. They survive its death. */
  open(process: string): Record {
    const file = join(this.path, `${process}.jsonl`);
    return (operation) => appendFileSync(file, `${JSON.stringify(operation)}\n`);
  }

  *read(): Generator<Operation> {
    for (const name of readdirSync(this.path).toSorted()) {
      const text = readFileSync(join(this.path, name), "utf8");
      for (const line of text.split("\n")) if (line !== "") yield JSON.parse(line) as Operation;
    }
  }

  /** Forgets everything, for the next round. */
  clear(): void {
    for (const name of readdirSync(this.path)) rmSync(join(this.path, name));
  }

  remove(): void {
    removeFolder(this.path);
  }
}
