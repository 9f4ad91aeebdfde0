/** The frame with which a native viewer begins: a snapshot of the session, written piece by piece. */
import { formatCursor, formatSse, type SessionState } from "@turnstream/protocol";
import { bytesOfText, type Telling } from "./encoding/encode.ts";
import type { Slices } from "../util/time-slicer.ts";
import { withSnapshot } from "./encoding/snapshot.ts";

export async function snapshotFrame(
  slices: Slices,
  telling: Telling,
  state: SessionState,
  turns: number,
): Promise<Buffer> {
  const event_id = formatCursor(state);
  const isSse = telling.choice.wire === "sse";
  const head = { type: "snapshot", session_id: telling.session, ...(isSse ? {} : { event_id }) };
  const data = await withSnapshot(slices, telling, head, state, turns);
  return slices.run(() =>
    bytesOfText(telling, isSse ? formatSse({ event: "snapshot", id: event_id, data }) : data),
  );
}
