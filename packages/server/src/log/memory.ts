/**
 * `createMemoryLog` creates a log in the memory of one process, for development and tests. It gives every guarantee of
 * `Log` except that the entries survive the process.
 *
 * Invariant: `MemoryEngine` follows the same rules as the scripts in `redis/scripts.ts`, and is the readable reference
 * for them. No operation awaits anything between its check and its notification, so each is atomic.
 */
import { comparePositions, type Position } from "@turnstream/protocol";
import {
  toAppendResult,
  UNARCHIVED_TTL_MS,
  type EngineAppend,
  type EngineClaim,
  type EngineHead,
  type EngineRange,
  type LogEngine,
  type LogNotification,
  type AppendOutcome,
} from "./engine.ts";
import { appendKey, LogEntry } from "./entry.ts";
import type { AppendResult, Log } from "./log.ts";
import { createStreamLog, type StreamLogOptions } from "./stream-log.ts";

export function createMemoryLog(options: StreamLogOptions = {}): Log {
  return createStreamLog(new MemoryEngine(), options);
}

export interface Stream {
  epoch: number;
  writer: string;
  /** How many tries of the writer had no answer. */
  generation: number;
  /** The timeline of the engine on which the log was claimed. It differs after the engine lost data. */
  timeline: number;
  base: Position;
  entries: LogEntry[];
  expires: NodeJS.Timeout | null;
  /** True after `expire`: the next write cancels that. */
  isExpiring: boolean;
}

export class MemoryEngine implements LogEngine {
  protected readonly streams = new Map<string, Stream>();
  protected readonly listeners = new Map<string, Set<(notification: LogNotification) => void>>();
  protected timeline = 0;

  async append(name: string, append: EngineAppend): Promise<AppendResult> {
    return toAppendResult(this.#append(name, append), append.lines.length);
  }

  #append(name: string, append: EngineAppend): AppendOutcome {
    const { epoch, writer, generation, lines } = append;
    const stream = this.streams.get(name);
    if (stream === undefined) return { type: "unclaimed", detail: "There is no log" };
    const isOwn =
      stream.timeline === this.timeline &&
      (epoch === null || (stream.epoch === epoch && stream.writer === writer && isCurrent(stream, append)));
    // Before the search: if it finds the append, an earlier try of it may still arrive.
    if (isOwn && epoch !== null) stream.generation = generation;
    const newest = append.repeat ? stream.entries.findLast((entry) => entry.writer === writer) : undefined;
    if (append.repeat) {
      const since = append.since ?? stream.base;
      if (comparePositions(since, stream.base) < 0) return { type: "unsure" };
      // A writer's counter only increases, so an append before its newest one can't have this counter.
      const isSame = newest?.key === appendKey(writer, append.counter);
      if (newest !== undefined && isSame && comparePositions(newest, since) >= 0)
        return { type: "found", last: newest };
    }
    if (epoch !== null && stream.epoch > epoch) return { type: "fenced", epoch: stream.epoch };
    // The log ends before a position that was archived: it lost entries, and its next claim restarts it.
    const isCut =
      append.repeat && append.since !== null && comparePositions(append.since, lastPosition(stream)) > 0;
    if (!isOwn || isCut) return { type: "unclaimed", detail: "The log was claimed on another engine" };
    // Even the writer's own claim was trimmed, so entries that it wrote later may have been trimmed too.
    const isSure = !append.repeat || append.since !== null || epoch === null || newest !== undefined;
    if (!isSure) return { type: "unsure" };
    if (stream.isExpiring) this.#expireAfter(name, stream, UNARCHIVED_TTL_MS, false);
    const { seq } = lastPosition(stream);
    const entries = lines.map((line, n) => new LogEntry(stream.epoch, seq + 1 + n, line));
    for (const entry of entries) stream.entries.push(entry);
    this.notify(name, { type: "written", batch: { before: null, entries } });
    return { type: "added", last: lastPosition(stream) };
  }

  async claim(name: string, claim: EngineClaim): Promise<AppendOutcome> {
    const { epoch, writer, line, floor, repeat } = claim;
    const stream = this.streams.get(name);
    if (stream !== undefined && stream.epoch >= epoch) {
      const first = stream.entries.find((entry) => entry.epoch === epoch);
      const isRepeat = stream.epoch === epoch && stream.writer === writer && first !== undefined;
      return isRepeat ? { type: "found", last: first } : { type: "outbid", epoch: stream.epoch };
    }
    if (repeat) return { type: "outbid", epoch: stream?.epoch ?? 0 };
    // If the log ends before the archived position, or starts after it, the log or the archive lost entries.
    const isWhole =
      stream !== undefined &&
      comparePositions(lastPosition(stream), floor) >= 0 &&
      comparePositions(stream.base, floor) <= 0;
    const before = isWhole ? lastPosition(stream) : floor;
    if (claim.last !== null && comparePositions(claim.last, before) !== 0)
      return { type: "moved", last: before };
    if (stream !== undefined) retainLog(stream);
    const entry = new LogEntry(epoch, before.seq + 1, line);
    const claimed: Stream = {
      epoch,
      writer,
      generation: 0,
      timeline: this.timeline,
      base: isWhole ? stream.base : floor,
      entries: isWhole ? [...stream.entries, entry] : [entry],
      expires: null,
      isExpiring: false,
    };
    this.streams.set(name, claimed);
    this.#expireAfter(name, claimed, UNARCHIVED_TTL_MS, false);
    this.notify(name, { type: "written", batch: { before, entries: [entry] } });
    return { type: "added", last: entry };
  }

  async range(name: string, from: Position, limit: number): Promise<EngineRange | null> {
    const stream = this.streams.get(name);
    if (stream === undefined) return null;
    const { epoch, base, entries } = stream;
    // `seq` has no gaps, so it determines the index of an entry.
    const start = Math.max(0, from.seq - base.seq - 1);
    let first = Math.min(start, entries.length);
    while (first < entries.length && comparePositions(entries[first] as LogEntry, from) < 0) first++;
    return { epoch, base, entries: entries.slice(first, first + limit) };
  }

  async head(name: string): Promise<EngineHead | null> {
    const stream = this.streams.get(name);
    return stream === undefined
      ? null
      : { epoch: stream.epoch, last: lastPosition(stream), base: stream.base };
  }

  async trim(name: string, upTo: Position): Promise<boolean> {
    const stream = this.streams.get(name);
    if (stream === undefined) return false;
    if (comparePositions(stream.base, upTo) === 0) return true;
    const at = stream.entries.findIndex((entry) => comparePositions(entry, upTo) === 0);
    if (at < 0) return false;
    stream.base = { epoch: upTo.epoch, seq: upTo.seq };
    stream.entries = stream.entries.slice(at + 1);
    return true;
  }

  async expire(name: string, archived: Position, afterMs: number): Promise<boolean> {
    const stream = this.streams.get(name);
    if (stream === undefined || comparePositions(lastPosition(stream), archived) !== 0) return false;
    this.#expireAfter(name, stream, afterMs, true);
    return true;
  }

  #expireAfter(name: string, stream: Stream, afterMs: number, isExpiring: boolean): void {
    retainLog(stream);
    stream.isExpiring = isExpiring;
    stream.expires = setTimeout(() => this.streams.delete(name), afterMs).unref();
  }

  async remove(name: string): Promise<void> {
    const stream = this.streams.get(name);
    if (stream !== undefined) retainLog(stream);
    this.streams.delete(name);
    this.notify(name, { type: "removed" });
  }

  async subscribe(name: string, listener: (notification: LogNotification) => void): Promise<() => void> {
    const listeners = this.listeners.get(name) ?? new Set();
    this.listeners.set(name, listeners.add(listener));
    return () => {
      listeners.delete(listener);
      if (listeners.size === 0 && this.listeners.get(name) === listeners) this.listeners.delete(name);
    };
  }

  async close(): Promise<void> {
    for (const stream of this.streams.values()) retainLog(stream);
    this.streams.clear();
    this.listeners.clear();
  }

  protected notify(name: string, notification: LogNotification): void {
    for (const listener of this.listeners.get(name) ?? []) listener(notification);
  }
}

export function lastPosition({ entries, base }: Stream): Position {
  return entries.at(-1) ?? base;
}

/** Only a retry raises the generation, or the first append to an expiring log. */
function isCurrent(stream: Stream, { generation, repeat }: EngineAppend): boolean {
  return repeat || stream.isExpiring ? stream.generation <= generation : stream.generation === generation;
}

export function retainLog(stream: Stream): void {
  if (stream.expires !== null) clearTimeout(stream.expires);
  stream.expires = null;
}
