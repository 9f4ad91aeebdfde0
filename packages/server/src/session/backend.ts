/**
 * `Backend` is the store and the log that operations on a session need; `CommandBackend` adds the signals. Types only.
 *
 * Invariant: only commands get `signals`. Reads must work with `Backend` alone.
 */
import type { Log } from "../log/log.ts";
import type { Signals } from "../signals/signals.ts";
import type { Store } from "../store/store.ts";

export interface Backend {
  readonly store: Store;
  readonly log: Log;
}

/** Commands also send signals, to wake the worker that acts on them. */
export interface CommandBackend extends Backend {
  readonly signals: Signals;
}
