/**
 * `checkRound` compares the database, the archive and everything that logs did in a round.
 *
 * Invariant: every acknowledged write is in the database, and every write is there whole. Its events are in the archive
 * once and in commit order. The archive has what the logs had, and its folded state belongs to its events.
 */
import {
  emptyState,
  foldAll,
  restore,
  SCHEMA_VERSION,
  type SessionEvent,
  snapshot,
} from "@turnstream/protocol";
import type { SessionRef } from "@turnstream/server";
import type { Store } from "@turnstream/server/internal";
import { readArchive } from "@turnstream/testkit/backend/read-all-events.ts";
import { describe } from "@turnstream/testkit/history/record-history.ts";
import { CLAIMER, type DurableRound } from "./durable-round.ts";
import {
  createWrite,
  type DurableWrite,
  findInconsistent,
  findRowKey,
  findWriteKey,
  readDrafts,
  readFacts,
} from "./durable-writes.ts";
import type { Figures } from "./figures.ts";

export const CHECKS = {
  "acknowledged and lost": { exactly: 0 },
  "stored in part": { exactly: 0 },
  "committed and not in the log": { exactly: 0 },
  "more than once in the log": { exactly: 0 },
  "in the log and not committed": { exactly: 0 },
  "logs that are not in commit order": { exactly: 0 },
  "archives whose state differs from their events": { exactly: 0 },
  "reads and appends that differ from the archive": { exactly: 0 },
} as const;

/** The newest turns that are compared. */
const WINDOW = 100;

/** @param mayLose whether Redis has lost entries that were not archived */
export async function checkRound(
  round: DurableRound,
  figures: Pick<Figures<keyof typeof CHECKS>, "add" | "report">,
  mayLose = false,
): Promise<void> {
  const { turns } = round.environment;
  const { databaseUrl, store } = turns.backend;
  const record = turns.history.open("archive");
  for (const ref of round.refs) {
    const drafts = await readDrafts(databaseUrl, ref);
    const events = await readArchive(store, ref);
    const committed = drafts.map((draft) => JSON.stringify(draft));
    const shown = events.filter((event) => findRowKey(event) !== null).map(withoutStamp);
    figures.report("committed and not in the log", without(committed, shown));
    figures.report("in the log and not committed", without(shown, committed));
    figures.add("more than once in the log", shown.length - new Set(shown).size);
    if (shown.join() !== committed.join()) figures.report("logs that are not in commit order", [ref.session]);
    if (!(await isFolded(store, ref, events)))
      figures.report("archives whose state differs from their events", [ref.session]);
    record({ type: "final", session: ref.session, base: "0-0", entries: events.map(describeEvent) });

    const stored = await readFacts(databaseUrl, ref);
    // Every write with an outbox row, also one whose process died before it could report it.
    const keys = new Set(drafts.map((draft) => findWriteKey(findRowKey(draft) ?? "")));
    const expected = [...keys].flatMap((key) => createWrite(ref, key).facts);
    const lost = round.acknowledged.filter(
      (write) => write.ref.session === ref.session && !isStored(write, stored),
    );
    figures.report(
      "acknowledged and lost",
      lost.map(({ key }) => key),
    );
    const differing = [...without(expected, stored), ...without(stored, expected)];
    const inconsistent = await findInconsistent(databaseUrl, ref);
    figures.report("stored in part", [...differing, ...inconsistent]);
  }
  figures.report("reads and appends that differ from the archive", turns.checkHistory({ mayLose }).findings);
}

export function isStored({ facts }: DurableWrite, stored: readonly string[]): boolean {
  return facts.every((fact) => stored.filter((each) => each === fact).length === 1);
}

function without(all: readonly string[], excluded: readonly string[]): string[] {
  const set = new Set(excluded);
  return all.filter((each) => !set.has(each));
}

function withoutStamp({ v: _v, id: _id, at: _at, first: _first, ...event }: SessionEvent): string {
  return JSON.stringify(event);
}

/** An archived event doesn't have the key of its append. */
function describeEvent(event: SessionEvent) {
  const row = findRowKey(event);
  const key = row === null ? `${CLAIMER}.${event.id.split("-")[0]}:0` : `o/${row}:0`;
  return describe({ cursor: event.id, key, text: withoutStamp(event) });
}

/** Compares the archived events with the folded state that is stored with them, and with the list of ended turns. */
async function isFolded(
  { archive, turns }: Store,
  ref: SessionRef,
  events: readonly SessionEvent[],
): Promise<boolean> {
  const { header, turns: stored, earlier } = await archive.window(ref, WINDOW);
  const folded = foldAll(events);
  const restored = restore({ ...emptyState, ...header, v: SCHEMA_VERSION, earlier, turns: stored });
  const ended = (await turns.list(ref, { limit: WINDOW })).filter(
    ({ status }) => status !== "running",
  ).length;
  return (
    toText(snapshot(restored, WINDOW)) === toText(snapshot(folded, WINDOW)) &&
    ended === Math.min(WINDOW, folded.turns.toArray().filter(({ status }) => status !== "running").length)
  );
}

/** Sorts the keys, so that their order makes no difference. */
function toText(state: unknown): string {
  return JSON.stringify(state, (_key, value: unknown) =>
    typeof value === "object" && value !== null && !Array.isArray(value)
      ? Object.fromEntries(Object.entries(value).toSorted(([a], [b]) => (a < b ? -1 : 1)))
      : value,
  );
}
