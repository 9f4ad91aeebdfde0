/**
 * `upgradeTurns` and `upgradeWindow` convert archived turns of other schema versions to the current one.
 *
 * Invariant: each turn equals what this version folds from its events. A turn that can't be converted is folded again,
 * which reads the archive of its session from the start. `upgradeWindow` leaves that to its caller. Turns of this
 * version and the next are not touched.
 */
import {
  emptyState,
  findTurn,
  fold,
  parseCursor,
  SCHEMA_VERSION,
  type TurnSnapshot,
  upgradeTurn,
} from "@turnstream/protocol";
import { turnSnapshot } from "@turnstream/protocol/writer";
import type { SessionRef } from "../util/refs.ts";
import type { Archive, ArchivedWindow, FoldVersion, TurnRecord } from "./archive.ts";
import { isExactFor } from "./archive.ts";

const PAGE = 500;

export type VersionedTurn = Pick<TurnRecord, "snapshot" | "v">;

/** Returns the turn in the form of this version, or null if its events must be folded again. */
function upgradeArchivedTurn({ snapshot, v }: VersionedTurn): TurnSnapshot | null {
  return isExactFor(v) ? upgradeTurn(snapshot, Math.abs(v)) : null;
}

/** @param v the version of the header */
export function upgradeWindow(
  v: FoldVersion | null,
  turns: readonly VersionedTurn[],
): Pick<ArchivedWindow, "v" | "turns"> {
  const upgraded = turns.map(upgradeArchivedTurn);
  const failed = turns[upgraded.indexOf(null)];
  return { v: failed?.v ?? v, turns: upgraded.filter((turn) => turn !== null) };
}

export async function upgradeTurns(
  archive: Pick<Archive, "header" | "events">,
  ref: SessionRef,
  records: TurnRecord[],
): Promise<TurnRecord[]> {
  if (records.every(({ v }) => v === SCHEMA_VERSION)) return records;
  const upgraded = records.map(upgradeArchivedTurn);
  if (upgraded.every((snapshot) => snapshot !== null))
    return records.map((record, n) => ({ ...record, snapshot: upgraded[n] ?? record.snapshot }));
  const end = parseCursor((await archive.header(ref)).archived)?.seq ?? 0;
  let state = emptyState;
  while (state.seq < end) {
    const events = await archive.events(ref, { after: state.seq, limit: PAGE });
    if (events.length === 0) break;
    for (const event of events) state = fold(state, event);
  }
  return records.map((record, n) => {
    const turn = findTurn(state, record.id);
    return {
      ...record,
      snapshot: upgraded[n] ?? (turn === undefined ? record.snapshot : turnSnapshot(turn)),
    };
  });
}
