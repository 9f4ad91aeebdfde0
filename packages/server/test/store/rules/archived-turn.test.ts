/** Tests which rows of turns a batch writes, and that rows and events together give every turn. */
import { LogWriter } from "@turnstream/conformance/support/log-writer.ts";
import { emptyState, foldAll, SCHEMA_VERSION, type SessionEvent } from "@turnstream/protocol";
import { turnSnapshot } from "@turnstream/protocol/writer";
import { describe, expect, test } from "vitest";
import type { ArchivedTurn } from "../../../src/store/archive.ts";
import { checkBatch, toEventRows } from "../../../src/store/archive.ts";
import { changedTurns } from "../../../src/session/archive/archive.ts";
import { foldStoredTurn } from "../../../src/store/archive.ts";
import { batchOf, chat } from "../archive-batch.ts";

/** Archives a log in batches of `size` events. */
function archive(log: readonly SessionEvent[], size: number) {
  const rows = new Map<string, ArchivedTurn>();
  let writes = 0;
  for (let start = 0; start < log.length; start += size) {
    const before = foldAll(log.slice(0, start));
    const changed = changedTurns(before, foldAll(log.slice(start, start + size), before));
    for (const row of changed) rows.set(row.id, row);
    writes += changed.length;
  }
  return { rows: [...rows.values()], writes };
}

function withForm(status: "submitted" | null): SessionEvent[] {
  const writer = new LogWriter().session().begin("fill in");
  const on = writer.place();
  writer.add({ type: "form.request", ...on, form: "f1", schema: { id: "s", title: "t", fields: [] } });
  writer.end("requires_interaction").begin("more").text(["ok"]).end();
  if (status !== null) writer.add({ type: "form.update", ...on, version: 1, status, values: {} });
  return writer.events;
}

describe("rows of turns", () => {
  test("are written at the start and the end of a turn, and not in between", () => {
    const log = chat(1, "text ".repeat(50));
    const { rows, writes } = archive(log, 1);
    expect(writes).toBe(2);
    expect(rows).toMatchObject([{ status: "end_turn", end: log.length, snapshot: null }]);
    expect(JSON.stringify(rows)).not.toContain("text text");
  });

  test("give every turn together with its events, in batches of any size", async () => {
    for (const log of [chat(3), withForm(null), withForm("submitted")]) {
      const { turns } = foldAll(log);
      for (let size = 1; size <= log.length; size++) {
        const { rows } = archive(log, size);
        const stored = rows.map((row) => foldStoredTurn({ ...row, v: SCHEMA_VERSION }, log));
        const folded = await Promise.all(stored);
        expect(folded.map((one) => one?.snapshot)).toEqual(turns.toArray().map(turnSnapshot));
      }
    }
  });

  test("give the running turn as far as it is archived, and nothing without its events", async () => {
    const log = chat(2);
    for (let end = 3; end <= log.length; end++) {
      const part = log.slice(0, end);
      const state = foldAll(part);
      const row = changedTurns(emptyState, state).at(-1);
      const last = state.turns.last();
      if (row === undefined || last === undefined) throw new Error("there is no turn");
      const stored = { ...row, v: SCHEMA_VERSION };
      expect((await foldStoredTurn(stored, part))?.snapshot).toEqual(turnSnapshot(last));
      expect(await foldStoredTurn(stored, [])).toBeNull();
    }
  });

  test("have a snapshot only if a form or payment is open or changed after the end", () => {
    expect(archive(withForm(null), 1).rows.map(({ snapshot }) => snapshot !== null)).toEqual([true, false]);
    expect(
      archive(withForm("submitted"), 100).rows.map(({ snapshot, open }) => [snapshot !== null, open]),
    ).toEqual([
      [true, false],
      [false, false],
    ]);
  });
});

describe("rows of events", () => {
  test("have no events of two turns, are not much longer than their limit, and give all events", () => {
    const batch = batchOf(chat(4, "word ".repeat(4_000)));
    const rows = toEventRows(batch.events, checkBatch(batch).spans);
    const parsed = rows.map(({ json }) => JSON.parse(json) as SessionEvent[]);
    expect(parsed.flat()).toEqual(batch.events);
    for (const [n, events] of parsed.entries()) {
      expect(events.slice(1).some(({ type }) => type === "turn.start")).toBe(false);
      expect(rows[n]?.last).toBe(Number(events.at(-1)?.id.split("-")[1]));
      expect(rows[n]?.json.length).toBeLessThan(2 * 32_768 + 20_000);
    }
    expect(rows.length).toBeGreaterThan(4);
  });
});
