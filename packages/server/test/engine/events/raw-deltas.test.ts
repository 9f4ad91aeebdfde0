/** Tests that workers write deltas in the form that readers of the log use without parsing them. */
import { afterEach, expect, test } from "vitest";
import { matchDeltaRun } from "../../../src/log/raw-deltas.ts";
import { script } from "../../../src/models/script-parts.ts";
import { scriptedModel } from "../../../src/models/scripted-model.ts";
import { defineAgent } from "../../../src/agent/define/agent.ts";
import { createMemoryBackend } from "../../gateway/test-server.ts";
import { readAll } from "../../log/drafts.ts";
import { TurnHarness } from "../turn-harness.ts";

let stage: TurnHarness;

afterEach(() => stage.close());

test("thinking and text of a turn", async () => {
  stage = await TurnHarness.open(createMemoryBackend());
  const answer = [script.reasoning('Let me "think".'), script.text("An answer\nin two lines.")];
  const agent = defineAgent({ name: "a", model: scriptedModel([answer]), title: false });
  await stage.worker([agent], { deltaBatchMs: 0 });
  const ref = await stage.session();
  await stage.ask(ref, "Go on.");
  const entries = await readAll(stage.backend.log, ref);
  const deltas = entries.filter((entry) => entry.hasType("text.delta") || entry.hasType("thinking.delta"));
  expect(new Set(deltas.map(({ type }) => type))).toEqual(new Set(["thinking.delta", "text.delta"]));
  for (const delta of deltas) expect(matchDeltaRun(delta), delta.text).not.toBeNull();
});
