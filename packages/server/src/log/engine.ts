/**
 * What a log asks of its engine: a few atomic operations on one session, and to be told when something was
 * written. Redis does them as scripts (`redis/scripts.ts`), memory as methods (`memory.ts`).
 * Everything else (cursors, attaching, retries of reads) is the same for both, in `stream-log.ts`.
 */
import { formatCursor, type Position } from "@turnstream/protocol";
import type { LogEntry } from "./entry.ts";
import { LogError } from "./errors.ts";
import type { AppendResult } from "./log.ts";

export interface LogEngine {
  /** Refuses with a LogError: see `AppendOutcome`. */
  append(session: string, append: EngineAppend): Promise<AppendResult>;
  claim(session: string, claim: EngineClaim): Promise<AppendOutcome>;
  /** From a position on, that entry included; null when there is no log. */
  range(session: string, from: Position, limit: number): Promise<EngineRange | null>;
  head(session: string): Promise<EngineHead | null>;
  trim(session: string, upTo: Position): Promise<boolean>;
  expire(session: string, archived: Position, afterMs: number): Promise<boolean>;
  remove(session: string): Promise<void>;
  /** See `log.ts`. */
  onOutage?(listener: (error: LogError) => void): () => void;
  /**
   * Calls the listener with what is written from the moment the promise is fulfilled. The engine may lose notifications
   * when a connection breaks; it then says `possible-gap`, once it is subscribed again.
   */
  subscribe(session: string, listener: (notification: LogNotification) => void): Promise<() => void>;
  close(): Promise<void>;
}

/** An engine may throw a LogError with UNAVAILABLE from any of these; everything else it answers. */
export interface EngineAppend {
  readonly writer: string;
  readonly counter: number;
  readonly lines: readonly string[];
  /** Null for a writer that joins whatever epoch there is. */
  readonly epoch: number | null;
  readonly repeat: boolean;
  readonly since: Position | null;
}

export interface EngineClaim {
  readonly epoch: number;
  readonly writer: string;
  readonly line: string;
  readonly floor: Position;
  /** Null to come after whatever is last. */
  readonly last: Position | null;
  readonly repeat: boolean;
}

export type AppendOutcome =
  | { readonly type: "added" | "found"; readonly last: Position }
  | { readonly type: "fenced" | "outbid"; readonly epoch: number }
  /** `last` is where it would have come after. */
  | { readonly type: "moved"; readonly last: Position }
  | { readonly type: "unclaimed"; readonly detail: string }
  | { readonly type: "unsure" };

export interface EngineRange {
  /** The newest under which the log was claimed, as of the same moment. */
  readonly epoch: number;
  readonly base: Position;
  readonly entries: readonly LogEntry[];
}

export interface EngineHead {
  readonly epoch: number;
  readonly last: Position;
  readonly base: Position;
}

export type LogNotification =
  | { readonly type: "written"; readonly batch: PublishedBatch }
  | { readonly type: "possible-gap" }
  | { readonly type: "removed" };

/** What one append or claim wrote. */
export interface PublishedBatch {
  /** For a claim, the position before it; an append follows the position before its own in the same epoch. */
  readonly before: Position | null;
  readonly entries: readonly LogEntry[];
}

/** What an engine's answer to a write means for its writer: positions, or a typed refusal. Pure. */
export function toAppendResult(outcome: AppendOutcome, events: number): AppendResult {
  switch (outcome.type) {
    case "added":
    case "found": {
      const { epoch, seq } = outcome.last;
      return { epoch, first: seq - events + 1, last: seq, repeated: outcome.type === "found" };
    }
    case "fenced":
      throw new LogError("FENCED", { epoch: outcome.epoch, detail: `The log is in epoch ${outcome.epoch}` });
    case "outbid":
      throw new LogError("OUTBID", { epoch: outcome.epoch, detail: `The log is in epoch ${outcome.epoch}` });
    case "moved":
      throw new LogError("MOVED", { detail: `The log ends at ${formatCursor(outcome.last)}` });
    case "unclaimed":
      throw new LogError("UNCLAIMED", { detail: outcome.detail });
    case "unsure":
      throw new LogError("UNSURE");
  }
}
