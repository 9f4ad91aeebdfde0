/** Tests that long turns give short pages, so that a response has a bounded size. */
import type { EventDraft } from "@turnstream/protocol/writer";
import { afterAll, beforeAll, expect, test } from "vitest";
import { SessionHarness } from "../../session/session-harness.ts";
import { archiveSession } from "../../../src/session/archive/archive.ts";
import { createMemoryBackend, openServer, type TestServer } from "../test-server.ts";

let server: TestServer;
let path: string;

/** A turn with 1.1 million characters. */
function longTurn(n: number): EventDraft[] {
  const [turn, run] = [`t${n}`, "main"];
  const block = { turn, run, block: `b${n}`, index: 0 };
  const deltas = Array.from({ length: 44 }, () => ({
    type: "text.delta" as const,
    ...block,
    text: "x".repeat(25_000),
  }));
  return [
    { type: "message.add", message: `m${n}`, text: `${n}` },
    {
      type: "turn.start",
      turn,
      number: n + 1,
      message: `m${n}`,
      message_number: n + 1,
      agent: "a",
      mode: "agent",
      from_share: false,
    },
    { type: "run.start", turn, run, agent: "a" },
    { type: "text.start", ...block, part: false },
    ...deltas,
    { type: "text.end", ...block, final: true },
    { type: "run.end", turn, run, status: "completed" },
    { type: "turn.end", turn, reason: "end_turn", duration_ms: 1 },
  ];
}

beforeAll(async () => {
  const parts = createMemoryBackend();
  const world = await (await SessionHarness.make(parts)).start();
  for (let n = 0; n < 5; n++) {
    for (const draft of longTurn(n)) await world.append(draft);
    if (n === 2) await archiveSession(parts, world.ref);
  }
  server = await openServer(parts, { actor: world.actor });
  path = `/sessions/${world.ref.session}`;
});
afterAll(async () => {
  await server.close();
  const { store, log, signals } = server.backend;
  await Promise.all([store.close(), log.close(), signals.close()]);
});

test("H01 pages of history end early, and no turn is left out", async () => {
  const asked: string[] = [];
  const sizes: number[] = [];
  for (let before = ""; ;) {
    const { text, json } = await server.request("GET", `${path}/history?limit=50${before}`);
    sizes.push(text.length);
    const users = json.messages.filter((one: { role: string }) => one.role === "user");
    asked.unshift(...users.map((one: { content: { text: string }[] }) => one.content[0]?.text));
    if (json.next_before === null) break;
    before = `&before=${json.next_before}`;
  }
  expect(asked).toEqual(["0", "1", "2", "3", "4"]);
  expect(sizes.length).toBe(3);
  expect(Math.max(...sizes)).toBeLessThan(2_500_000);
});

test("a snapshot has fewer turns and the number of earlier ones", async () => {
  const { snapshot } = (await server.request("GET", `${path}/snapshot?turns=50`)).json;
  expect([snapshot.turns.length, snapshot.earlier]).toEqual([2, 3]);
  const before = snapshot.turns[0].start;
  const { turns } = (await server.request("GET", `${path}/turns?limit=50&before=${before}`)).json;
  expect(turns.length).toBe(2);
  expect(turns.at(-1).number).toBe(snapshot.turns[0].number - 1);
});
