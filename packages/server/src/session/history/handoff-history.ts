/**
 * The hand-off for clients that can't take up a half-streamed block: the session as of the latest quiet point, and that
 * point as the cursor to go on from. Exact wherever the archive ends, in mid-block too. Reads only.
 */
import { type Cursor, formatCursor, type SessionState } from "@turnstream/protocol";
import { isHandoffPoint, type HandoffTracker, trackHandoffPoint } from "@turnstream/protocol/writer";
import type { SessionRef } from "../../store/refs.ts";
import { readCheckpoint } from "./archived-state.ts";
import { foldTo } from "./fold-to.ts";
import { prependOlderTurns, type TurnWindow } from "./turn-window.ts";
import type { Backend } from "../backend.ts";

export interface HandoffHistory {
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
export async function readHandoffHistory(
  backend: Backend,
  ref: SessionRef,
  window: TurnWindow | null,
): Promise<HandoffHistory> {
  for (let left = TRIES; ; left--) {
    const base = await readCheckpoint(backend, ref);
    let track: HandoffTracker = trackHandoffPoint(base);
    const folded = await foldTo(backend, ref, base, {
      onStep: (_before, _event, state) => {
        track = { state, handoff: isHandoffPoint(state) ? state : track.handoff };
      },
    });
    if (typeof folded === "string" && left > 1) continue;
    // No turn ran before this one began: that was quiet.
    const handoff = track.handoff ?? base;
    const state = window === null ? handoff : await prependOlderTurns(backend, ref, handoff, window);
    return { state, cursor: formatCursor(handoff) };
  }
}
