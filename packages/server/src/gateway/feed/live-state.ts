/**
 * The folded session where a feed stands, brought up to date when somebody looks. While a block is being spoken, deltas
 * are only collected: what a viewer is told of them stands in the log, and a hundred of them fold as one. Knows no viewer.
 */
import type { Cursor, SessionEvent, SessionState } from "@turnstream/protocol";
import type { LogEntry } from "../../log/entry.ts";
import { type DeltaPrefix, deltaPrefix } from "../encoding/encode.ts";
import { extractRawText, mergedDelta, type DeltaRun, matchDeltaRun } from "../encoding/raw-deltas.ts";

/** What one entry came to: more text of the block that is being spoken, or an event and the session around it. */
export type LiveChange =
  | { readonly rawText: string; readonly head: DeltaPrefix; readonly cursor: Cursor }
  | { readonly event: SessionEvent; readonly before: SessionState; readonly after: SessionState };

interface Speech {
  readonly saying: DeltaRun;
  readonly head: DeltaPrefix;
}

/** Folds an event, after what it may drop of the state before. */
export type FoldFunction = (
  before: SessionState,
  event: SessionEvent,
) => { readonly before: SessionState; readonly after: SessionState };

/** So that who looks never waits for long, and states that are kept lie near to each other. */
const MAX_UNFOLDED = 48;

export class LiveState {
  readonly #foldOn: FoldFunction;
  #folded: SessionState;
  #speech: Speech | null = null;
  #unfolded: string[] = [];
  #last: LogEntry | null = null;

  constructor(state: SessionState, foldOn: FoldFunction) {
    this.#folded = state;
    this.#foldOn = foldOn;
  }

  get state(): SessionState {
    if (this.#speech !== null && this.#last !== null && this.#unfolded.length > 0) {
      const event = mergedDelta(this.#speech.saying, this.#unfolded, this.#last);
      this.#folded = this.#foldOn(this.#folded, event).after;
      this.#unfolded = [];
    }
    return this.#folded;
  }

  /** @param isPlain whether everybody who is told can be told of deltas as they stand in the log */
  take(entries: readonly LogEntry[], isPlain: boolean): readonly LiveChange[] {
    return entries.map((entry) => (isPlain ? this.#hear(entry) : null) ?? this.#fold(entry, isPlain));
  }

  #hear(entry: LogEntry): LiveChange | null {
    if (this.#speech === null) return null;
    const { saying, head } = this.#speech;
    const said = extractRawText(saying, entry);
    if (said === null) return null;
    if (this.#unfolded.length >= MAX_UNFOLDED) this.#folded = this.state;
    this.#unfolded.push(said);
    this.#last = entry;
    return { rawText: said, head, cursor: entry.cursor };
  }

  #fold(entry: LogEntry, isPlain: boolean): LiveChange {
    const { event } = entry;
    const { before, after } = this.#foldOn(this.state, event);
    this.#folded = after;
    const saying = isPlain ? matchDeltaRun(entry) : null;
    const head = saying === null ? null : deltaPrefix(before, event, after);
    this.#speech = saying === null || head === null ? null : { saying, head };
    return { event, before, after };
  }
}
