/** What the work on a whole session needs: where it lives, and where it is remembered. Types only. */
import type { Log } from "../log/log.ts";
import type { Signals } from "../signals/signals.ts";
import type { Store } from "../store/store.ts";

export interface Backend {
  readonly store: Store;
  readonly log: Log;
}

/** What commands need as well: to wake whoever acts on them. */
export interface CommandBackend extends Backend {
  readonly signals: Signals;
}
