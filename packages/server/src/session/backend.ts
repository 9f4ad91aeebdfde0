/**
 * `Backend` is the store and the log that operations on a session need; `CommandBackend` adds the signals. Types only.
 *
 * Invariant: only commands get `signals`. Reads must work with `Backend` alone.
 */
import type { Cursor } from "@turnstream/protocol";
import type { Log } from "../log/log.ts";
import type { Signals } from "../signals/signals.ts";
import type { Store } from "../store/store.ts";
import type { SessionRef } from "../util/refs.ts";

export interface Backend {
  readonly store: Store;
  readonly log: Log;
  /** Called after a claim found that events of a session are lost. Must not throw. Default: ignored. */
  readonly onLoss?: ((loss: HistoryLoss) => void) | undefined;
}

/** The archive lost its newest commits, and the log had trimmed the events. The session continues after `archived`. */
export interface HistoryLoss extends SessionRef {
  readonly archived: Cursor;
  /** The position at which the log started. Events up to here are lost. */
  readonly base: Cursor;
  /** The last position of the log. Events after `base` were dropped, because they don't follow the archive. */
  readonly last: Cursor;
  /** The key in Redis under which the dropped events stay for seven days, or null if there are none. */
  readonly setAside: string | null;
}

/** Commands also send signals, to wake the worker that acts on them. */
export interface CommandBackend extends Backend {
  readonly signals: Signals;
}
