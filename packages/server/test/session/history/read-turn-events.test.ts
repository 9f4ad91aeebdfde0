/** Tests that the events of a turn are read once and in order, wherever the log was trimmed, and never after a loss. */
import { START_CURSOR } from "@turnstream/protocol";
import type { EventDraft } from "@turnstream/protocol/writer";
import { createMemoryStore } from "@turnstream/testing";
import { expect, test } from "vitest";
import { createMemoryLog } from "../../../src/log/memory.ts";
import { archiveSession } from "../../../src/session/archive/archive.ts";
import { trimLog } from "@turnstream/testkit/backend/trim-log.ts";
import { readTurnEvents } from "../../../src/session/history/read-turn-events.ts";
import { SessionHarness } from "../session-harness.ts";

const TURN = { turn: "t1", before: START_CURSOR };
const MAIN = { turn: "t1", run: "main", block: "b0", index: 0 };
const BLOCK: readonly EventDraft[] = [
  { type: "run.start", turn: "t1", run: "main", agent: "a" },
  { type: "text.start", ...MAIN, part: false },
  ..."abcdef".split("").map((text): EventDraft => ({ type: "text.delta", ...MAIN, text })),
];
const REST: readonly EventDraft[] = [
  { type: "text.end", ...MAIN, final: true },
  { type: "message.add", message: "m2", text: "Another message." },
  { type: "run.end", turn: "t1", run: "main", status: "completed" },
  { type: "turn.end", turn: "t1", reason: "end_turn", duration_ms: 1 },
  { type: "message.add", message: "m3", text: "After the turn." },
];

/** A session whose turn has written a text block and not ended. */
async function startTurn(): Promise<SessionHarness> {
  const harness = await SessionHarness.make({ log: createMemoryLog(), store: createMemoryStore() });
  await harness.start();
  const position = { number: 1, message_number: 1, agent: "a", mode: "agent", from_share: false } as const;
  await harness.claim({ type: "turn.start", turn: "t1", ...position });
  await harness.append(...BLOCK);
  return harness;
}

const read = ({ backend, ref }: SessionHarness, signal = new AbortController().signal) =>
  readTurnEvents(backend, ref, TURN, signal);

test("the archive and the log join at every position, also within merged deltas", async () => {
  const types = ["turn.start", "run.start", "text.start", "text.delta", "text.end", "run.end", "turn.end"];
  for (let cut = 1; cut <= 14; cut++) {
    const harness = await startTurn();
    await harness.append(...REST);
    const upTo = harness.events[cut - 1]?.id ?? START_CURSOR;
    await archiveSession(harness.backend, harness.ref, { upTo });
    await trimLog(harness.backend, harness.ref);
    const events = [];
    for await (const event of read(harness)) events.push(event);
    expect([...new Set(events.map(({ type }) => type))]).toEqual(types);
    expect(events.map((event) => (event.type === "text.delta" ? event.text : "")).join("")).toBe("abcdef");
  }
});

test("a reader whose log is lost gets no event twice, and an error", async () => {
  const harness = await startTurn();
  const { backend, ref } = harness;
  await archiveSession(backend, ref, { upTo: harness.events[3]?.id ?? START_CURSOR });
  const events = read(harness);
  let text = "";
  while (text !== "abcdef") {
    const { value } = await events.next();
    if (value?.type === "text.delta") text += value.text;
  }
  await backend.log.remove(ref);
  await harness.claim({ type: "turn.takeover", turn: "t1", blocks: [], groups: [], runs: [] });
  await harness.append(...BLOCK.slice(2), ...REST);
  await archiveSession(backend, ref);
  await expect(events.next()).rejects.toMatchObject({ name: "TurnError", code: "INTERRUPTED" });
});

test("the signal ends a read that waits", async () => {
  const leaving = new AbortController();
  const events = read(await startTurn(), leaving.signal);
  for (let n = 0; n <= BLOCK.length; n++) await events.next();
  const next = events.next();
  leaving.abort(new Error("enough"));
  await expect(next).rejects.toThrow("enough");
});
