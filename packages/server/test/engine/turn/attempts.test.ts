/** Tests how often a turn can be attempted: as long as it makes progress or is handed over. In memory. */
import { listBlocks, type SessionState } from "@turnstream/protocol";
import { afterEach, expect, it } from "vitest";
import { createMemoryLog } from "../../../src/log/memory.ts";
import { script } from "../../../src/models/script-parts.ts";
import { scriptedModel } from "../../../src/models/scripted-model.ts";
import { defineAgent } from "../../../src/agent/define/agent.ts";
import { tool } from "../../../src/agent/define/tool.ts";
import { createMemorySignals } from "../../../src/signals/memory.ts";
import { StoreError } from "../../../src/store/errors.ts";
import { createMemoryStore } from "@turnstream/testing";
import { outline, TurnHarness } from "../turn-harness.ts";

let harness: TurnHarness;
const open = async (): Promise<TurnHarness> =>
  (harness = await TurnHarness.open({
    log: createMemoryLog(),
    store: createMemoryStore(),
    signals: createMemorySignals(),
  }));
afterEach(() => harness.close());

const maxAttempts = 3;
const look = tool({ idempotent: true, run: () => "seen" });

const isAsked = ({ turns }: SessionState) =>
  turns.toArray().some((turn) => listBlocks(turn).some((block) => "version" in block)) || null;

it("a turn that waits for the user survives any number of deploys", async () => {
  await open();
  const model = scriptedModel([[script.toolCall("trade")], [script.text("done")]]);
  const trade = tool({ approval: { timeoutMs: 864_000_000 }, run: () => "traded" });
  const agents = [defineAgent({ name: "a", model, tools: { trade } })];
  const ref = await harness.session();
  let worker = await harness.worker(agents, { maxAttemptsWithoutProgress: maxAttempts });
  await harness.send(ref, "go");
  await harness.until(ref, 30_000, isAsked);
  const { running } = harness.backend.store;
  for (let deploys = 1; deploys <= 3 * maxAttempts; deploys++) {
    await expect.poll(async () => (await running.get(ref))?.attempts ?? 0).toBe(deploys);
    const next = await harness.worker(agents, { maxAttemptsWithoutProgress: maxAttempts });
    await worker.shutdown();
    worker = next;
  }
  const { turns } = await harness.state(ref);
  expect(turns.last()?.status).toBe("running");
  await harness.stop(ref);
  expect((await harness.ended(ref, () => true)).status).toBe("user_stopped");
});

it("a turn whose every step breaks off once continues", async () => {
  await open();
  const steps = 3 * maxAttempts;
  const model = scriptedModel(({ step }) =>
    step < steps
      ? [script.text(`step ${step}`), script.disconnect({ times: 1 }), script.toolCall("look")]
      : [script.text("done")],
  );
  await harness.worker([defineAgent({ name: "a", model, tools: { look }, retry: { initialDelayMs: 1 } })], {
    maxAttemptsWithoutProgress: maxAttempts,
  });
  const turn = await harness.ask(await harness.session(), "go");
  expect(turn.status).toBe("end_turn");
  expect(outline(turn).at(-1)).toBe("text final done");
});

it("a turn whose attempts make no progress ends", async () => {
  await open();
  let asked = 0;
  const model = scriptedModel(() => {
    asked++;
    return [script.text("hello")];
  });
  const { store } = harness.backend;
  const broken = {
    ...store,
    attachments: {
      ...store.attachments,
      list: async () => {
        throw new StoreError("CONFLICT", "a test");
      },
    },
  };
  await harness.worker([defineAgent({ name: "a", model })], {
    maxAttemptsWithoutProgress: maxAttempts,
    store: broken,
  });
  const turn = await harness.ask(await harness.session(), "go");
  expect(turn.status).toBe("error");
  expect(asked).toBe(0);
});
