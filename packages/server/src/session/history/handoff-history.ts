/**
 * `readHandoffHistory` returns the session at the latest handoff point and its cursor, for clients that can't resume a
 * half-streamed block. Reads only.
 *
 * Invariant: the result is exact wherever the archive ends, also in the middle of a block.
 */
import { type Cursor, findTurn, formatCursor, type SessionState } from "@turnstream/protocol";
import {
  isHandoffPoint,
  isKnownMessage,
  type HandoffTracker,
  trackHandoffPoint,
} from "@turnstream/protocol/writer";
import type { SessionRef } from "../../util/refs.ts";
import { readCheckpoint } from "./archived-state.ts";
import { foldTo } from "./fold-to.ts";
import type { Backend } from "../backend.ts";

export interface HandoffHistory {
  /** Complete turns that are not archived, and archived ones only as far as needed to continue. */
  readonly state: SessionState;
  /** Subscribe after this cursor. */
  readonly cursor: Cursor;
  /**
   * Whether the state lacks an accepted message or turn, such as a retry that no worker has started. The stream after
   * the cursor has it.
   */
  readonly lacksAccepted: boolean;
}

/** How often to restart if archiving or trimming moved the archive and the log during the read. */
const TRIES = 5;

/** @throws StoreError NOT_FOUND */
export async function readHandoffHistory(backend: Backend, ref: SessionRef): Promise<HandoffHistory> {
  // Read the store before the log, or a turn that runs in between would go unnoticed. A message leaves the queue when its
  // turn becomes the running one, so read the queue first.
  const queued = await backend.store.queuedMessages.list(ref);
  const running = await backend.store.running.get(ref);
  for (let left = TRIES; ; left--) {
    const base = await readCheckpoint(backend, ref);
    let track: HandoffTracker = trackHandoffPoint(base);
    const folded = await foldTo(backend, ref, base, {
      onStep: (_before, _event, state) => {
        track = { state, handoff: isHandoffPoint(state) ? state : track.handoff };
      },
    });
    if (typeof folded === "string" && left > 1) continue;
    // No turn ran before the newest turn started, so the checkpoint is a handoff point.
    const state = track.handoff ?? base;
    const lacksAccepted =
      queued.some(({ id }) => !isKnownMessage(state, id)) ||
      (running !== null && findTurn(state, running.turn) === undefined);
    return { state, cursor: formatCursor(state), lacksAccepted };
  }
}
