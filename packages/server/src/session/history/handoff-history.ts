/**
 * The hand-off for clients that can't take up a half-streamed block: the session as of the latest quiet point, and that
 * point as the cursor to go on from. Exact wherever the archive ends, in mid-block too. Reads only.
 */
import {
  type Cursor,
  formatCursor,
  isQuiet,
  type QuietTrack,
  type SessionState,
  trackQuiet,
} from "@turnstream/protocol";
import type { Ref } from "../../store/refs.ts";
import { readCheckpoint } from "./archived-state.ts";
import { foldFrom } from "./fold-to.ts";
import { withOlderTurns, type Window } from "./turn-window.ts";
import type { Parts } from "../backend.ts";

export interface HandOff {
  /** A window on the newest turns; `earlier` says how many more there are. */
  readonly state: SessionState;
  /** Subscribe after this. */
  readonly cursor: Cursor;
}

/** How often to begin again where archive and log were moved meanwhile. */
const TRIES = 5;

/**
 * Throws NOT_FOUND.
 * @param window null for the state as it was folded: whole turns that are not archived, and of others only what goes on
 */
export async function readQuiet(parts: Parts, ref: Ref, window: Window | null): Promise<HandOff> {
  for (let left = TRIES; ; left--) {
    const base = await readCheckpoint(parts, ref);
    let track: QuietTrack = trackQuiet(base);
    const folded = await foldFrom(parts, ref, base, {
      onStep: (_before, _event, state) => {
        track = { state, quiet: isQuiet(state) ? state : track.quiet };
      },
    });
    if (typeof folded === "string" && left > 1) continue;
    // No turn ran before this one began: that was quiet.
    const quiet = track.quiet ?? base;
    const state = window === null ? quiet : await withOlderTurns(parts, ref, quiet, window);
    return { state, cursor: formatCursor(quiet) };
  }
}
