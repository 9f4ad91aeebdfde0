/**
 * `LogEngine` is the port between a log and its storage: atomic operations on the log of one session, and notifications
 * about writes. The name of a log is the `sessionKey` of its session. Redis implements it with scripts
 * (`redis/scripts.ts`), memory with methods (`memory.ts`).
 *
 * Invariant: a write checks, stores and publishes in one atomic step. `claim` returns a refusal as an `AppendOutcome`;
 * `append` throws it, mapped by `toAppendResult`. Any operation may throw a LogError with UNAVAILABLE, and a write may
 * then have happened. After lost notifications, a subscriber gets `possible-gap`.
 */
import { formatCursor, type Position } from "@turnstream/protocol";
import type { LogEntry } from "./entry.ts";
import { LogError } from "./errors.ts";
import type { AppendResult } from "./log.ts";

/**
 * How long a log stays after its last claim, or after an append that cancelled its expiry. A worker archives the
 * entries long before, and shortens the time. So no log stays for ever, even if all processes die at the worst moment.
 */
export const UNARCHIVED_TTL_MS = 24 * 60 * 60 * 1_000;

export interface LogEngine {
  /** @throws LogError if the append is refused; `toAppendResult` maps each outcome to a code. */
  append(name: string, append: EngineAppend): Promise<AppendResult>;
  claim(name: string, claim: EngineClaim): Promise<AppendOutcome>;
  /** Returns up to `limit` entries from a position on, that entry included, or null if there is no log. */
  range(name: string, from: Position, limit: number): Promise<EngineRange | null>;
  head(name: string): Promise<EngineHead | null>;
  trim(name: string, upTo: Position): Promise<boolean>;
  expire(name: string, archived: Position, afterMs: number): Promise<boolean>;
  remove(name: string): Promise<void>;
  /** See `Log.onOutage`. */
  onOutage?(listener: (error: LogError) => void): () => void;
  /** See `Log.isImpaired`. */
  readonly isImpaired?: boolean;
  /** See `Log.evaluate`. */
  evaluate?(script: string, keys: readonly string[], args: readonly string[]): Promise<unknown>;
  /**
   * Calls the listener for every write that happens after the promise is fulfilled. The engine may lose notifications
   * when a connection breaks. It then sends `possible-gap` once it has subscribed again.
   */
  subscribe(name: string, listener: (notification: LogNotification) => void): Promise<() => void>;
  close(): Promise<void>;
}

/** Lines that one writer appends as one batch. */
export interface EngineAppend {
  readonly writer: string;
  readonly counter: number;
  readonly lines: readonly string[];
  /** Null for a writer that joins the current epoch. */
  readonly epoch: number | null;
  /** Of the writer, see `AppendBatch.generation`. 0 for a writer that joins. */
  readonly generation: number;
  readonly repeat: boolean;
  readonly since: Position | null;
}

/** The first line of a new epoch. */
export interface EngineClaim {
  readonly epoch: number;
  readonly writer: string;
  readonly line: string;
  readonly floor: Position;
  /** Null to write after the last entry, wherever that is. */
  readonly last: Position | null;
  readonly repeat: boolean;
}

export type AppendOutcome =
  /** `setAside`: for a claim, see `AppendResult.setAside`. */
  | { readonly type: "added" | "found"; readonly last: Position; readonly setAside?: string }
  | { readonly type: "fenced" | "outbid"; readonly epoch: number }
  /** `last` is the position that the claim would have followed. */
  | { readonly type: "moved"; readonly last: Position }
  | { readonly type: "unclaimed"; readonly detail: string }
  | { readonly type: "unsure" };

export interface EngineRange {
  /** The newest epoch under which the log was claimed, read in the same atomic step as the entries. */
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

/** The entries of one append or claim. */
export interface PublishedBatch {
  /** For a claim, the position that it follows. Null for an append: it follows the previous `seq` of the same epoch. */
  readonly before: Position | null;
  readonly entries: readonly LogEntry[];
}

/** Converts an engine's outcome into the written positions. Pure. @throws LogError for every refusal. */
export function toAppendResult(outcome: AppendOutcome, events: number): AppendResult {
  switch (outcome.type) {
    case "added":
    case "found": {
      const { epoch, seq } = outcome.last;
      const { setAside } = outcome;
      const result = { epoch, first: seq - events + 1, last: seq, repeated: outcome.type === "found" };
      return setAside === undefined ? result : { ...result, setAside };
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
