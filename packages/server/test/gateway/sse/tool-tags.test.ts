/** Tests tool tags over real connections: a posted message decides whether its text has them. */
import { afterEach, beforeEach, expect, test } from "vitest";
import { script } from "../../../src/models/script-parts.ts";
import { scriptedModel } from "../../../src/models/scripted-model.ts";
import { defineAgent } from "../../../src/agent/define/agent.ts";
import { TurnHarness } from "../../engine/turn-harness.ts";
import { StreamClient } from "../clients.ts";
import { createMemoryBackend, openServer, type TestServer } from "../test-server.ts";

const TAGGED = 'The tide <tool name="get_tide">{"port":"North"}</tool>is high.';

let stage: TurnHarness;
let server: TestServer;

beforeEach(async () => {
  stage = await TurnHarness.open(createMemoryBackend());
  // Small chunks cut the tags.
  const model = scriptedModel(() => [script.text(TAGGED, { chunk: 5, paceMs: 2 })]);
  await stage.worker([defineAgent({ name: "a", title: false, model })], { leaseTtlMs: 20_000 });
  server = await openServer(stage.backend, { actor: stage.actor });
});

afterEach(async () => {
  await server.close();
  await stage.close();
});

async function post(body: object): Promise<{ deltas: string[]; final: unknown }> {
  const { session } = await stage.session();
  const stream = await StreamClient.open(`${server.url}/api/v1/sessions/${session}/messages`, {
    method: "POST",
    headers: { ...server.auth, "content-type": "application/json" },
    body: JSON.stringify({ text: "tide?", stream: true, ...body }),
  });
  await stream.ended();
  const ofType = (wanted: string) => stream.frames.filter(({ type }) => type === wanted);
  return {
    deltas: ofType("response.output_text.delta").map((frame) => String(frame["delta"])),
    final: ofType("response.output_text.completed")[0]?.["final_text"],
  };
}

test.each([{}, { include_tool_tags: false }])(
  "S06 tool tags are removed from deltas and from the final text: %j",
  async (body) => {
    const { deltas, final } = await post(body);
    expect(final).toBe("The tide is high.");
    expect(deltas.join("")).toBe(final);
    expect(deltas).not.toContain("");
  },
);

test("S06 tool tags are sent if the client requests them", async () => {
  const { deltas, final } = await post({ include_tool_tags: true });
  expect(final).toBe(TAGGED);
  expect(deltas.join("")).toBe(TAGGED);
});
