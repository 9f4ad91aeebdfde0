/**
 * `LiveState` is the folded session at the position of a feed. It collects the deltas of an open block and folds them
 * together when the state is read. Folding many deltas together is as cheap as folding one. Knows no subscribers.
 * Invariant: `state` equals the fold of all applied entries, in their order; at most 48 deltas are unfolded at a time.
 * `apply` returns one change per entry. It returns raw text only if the formats of all live subscribers support that.
 */
import type { SessionEvent, SessionState } from "@turnstream/protocol";
import type { LogEntry } from "../../log/entry.ts";
import { type DeltaPrefix, deltaPrefix, type RawDelta } from "../encoding/encode.ts";
import { extractRawText, mergedDelta, type DeltaRun, matchDeltaRun } from "../../log/raw-deltas.ts";

/** The effect of one entry: more text of the open block, or an event with the states before and after it. */
export type LiveChange =
  | RawDelta
  | { readonly event: SessionEvent; readonly before: SessionState; readonly after: SessionState };

interface ActiveRun {
  readonly run: DeltaRun;
  readonly prefix: DeltaPrefix;
}

/** Folds an event. May trim the state first. */
export type FoldFunction = (
  before: SessionState,
  event: SessionEvent,
) => { readonly before: SessionState; readonly after: SessionState };

/** Bounds the cost of reading the state, and the distance between checkpoints. */
const MAX_UNFOLDED = 48;

export class LiveState {
  readonly #foldEvent: FoldFunction;
  #folded: SessionState;
  #activeRun: ActiveRun | null = null;
  #unfolded: string[] = [];
  #last: LogEntry | null = null;

  constructor(state: SessionState, foldEvent: FoldFunction) {
    this.#folded = state;
    this.#foldEvent = foldEvent;
  }

  get state(): SessionState {
    if (this.#activeRun !== null && this.#last !== null && this.#unfolded.length > 0) {
      const event = mergedDelta(this.#activeRun.run, this.#unfolded, this.#last);
      this.#folded = this.#foldEvent(this.#folded, event).after;
      this.#unfolded = [];
    }
    return this.#folded;
  }

  /** @param useRawDeltas true if the formats of all live subscribers support raw deltas */
  apply(entries: readonly LogEntry[], useRawDeltas: boolean): readonly LiveChange[] {
    return entries.map(
      (entry) => (useRawDeltas ? this.#appendDelta(entry) : null) ?? this.#fold(entry, useRawDeltas),
    );
  }

  #appendDelta(entry: LogEntry): LiveChange | null {
    if (this.#activeRun === null) return null;
    const { run, prefix } = this.#activeRun;
    const rawText = extractRawText(run, entry);
    if (rawText === null) return null;
    if (this.#unfolded.length >= MAX_UNFOLDED) this.#folded = this.state;
    this.#unfolded.push(rawText);
    this.#last = entry;
    return { rawText, prefix };
  }

  #fold(entry: LogEntry, useRawDeltas: boolean): LiveChange {
    const { event } = entry;
    const { before, after } = this.#foldEvent(this.state, event);
    this.#folded = after;
    const run = useRawDeltas ? matchDeltaRun(entry) : null;
    const prefix = run === null ? null : deltaPrefix(before, event, after);
    this.#activeRun = run === null || prefix === null ? null : { run, prefix };
    return { event, before, after };
  }
}
