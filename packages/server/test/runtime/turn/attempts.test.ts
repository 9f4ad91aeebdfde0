/** How often a turn may be begun again: as often as it gets on, or is handed over. In memory. */
import { listBlocks, type SessionState } from "@turnstream/protocol";
import { afterEach, expect, it } from "vitest";
import { createMemoryLog } from "../../../src/log/memory.ts";
import { script } from "../../../src/models/script-parts.ts";
import { scriptedModel } from "../../../src/models/scripted-model.ts";
import { defineAgent } from "../../../src/runtime/define/agent.ts";
import { tool } from "../../../src/runtime/define/tool.ts";
import { createMemorySignals } from "../../../src/signals/memory.ts";
import { StoreError } from "../../../src/store/errors.ts";
import { createMemoryStore } from "../../../src/store/memory/store.ts";
import { outline, Stage } from "../turn-harness.ts";

let stage: Stage;
const open = async (): Promise<Stage> =>
  (stage = await Stage.open({
    log: createMemoryLog(),
    store: createMemoryStore(),
    signals: createMemorySignals(),
  }));
afterEach(() => stage.close());

const maxAttempts = 3;
const look = tool({ rerun: "always", run: () => "seen" });

const isAsked = ({ turns }: SessionState) =>
  turns.toArray().some((turn) => listBlocks(turn).some((block) => "version" in block)) || null;

it("a turn that waits for a person outlasts any number of deploys", async () => {
  await open();
  const model = scriptedModel([[script.toolCall("trade")], [script.text("done")]]);
  const trade = tool({ approval: { timeoutSeconds: 864_000 }, run: () => "traded" });
  const agents = [defineAgent({ name: "a", model, tools: { trade } })];
  const ref = await stage.session();
  let worker = await stage.worker(agents, { maxAttemptsWithoutProgress: maxAttempts });
  await stage.send(ref, "go");
  await stage.until(ref, 30_000, isAsked);
  const { running } = stage.parts.store;
  for (let deploys = 1; deploys <= 3 * maxAttempts; deploys++) {
    await expect.poll(async () => (await running.get(ref))?.attempts ?? 0).toBe(deploys);
    const next = await stage.worker(agents, { maxAttemptsWithoutProgress: maxAttempts });
    await worker.shutdown();
    worker = next;
  }
  const { turns } = await stage.state(ref);
  expect(turns.last()?.status).toBe("running");
  await stage.stop(ref);
  expect((await stage.ended(ref, () => true)).status).toBe("user_stopped");
});

it("a turn whose every step breaks off once goes on", async () => {
  await open();
  const steps = 3 * maxAttempts;
  const model = scriptedModel(({ step }) =>
    step < steps
      ? [script.text(`step ${step}`), script.disconnect({ times: 1 }), script.toolCall("look")]
      : [script.text("done")],
  );
  await stage.worker([defineAgent({ name: "a", model, tools: { look }, retry: { initialDelayMs: 1 } })], {
    maxAttemptsWithoutProgress: maxAttempts,
  });
  const turn = await stage.ask(await stage.session(), "go");
  expect(turn.status).toBe("end_turn");
  expect(outline(turn).at(-1)).toBe("text final done");
});

it("a turn whose attempts come to nothing ends", async () => {
  await open();
  let asked = 0;
  const model = scriptedModel(() => {
    asked++;
    return [script.text("hello")];
  });
  const { store } = stage.parts;
  const broken = {
    ...store,
    journal: {
      ...store.journal,
      write: async (...args: Parameters<typeof store.journal.write>) => {
        if (args[1].key.startsWith("pinned/")) throw new StoreError("CONFLICT", "a test");
        return store.journal.write(...args);
      },
    },
  };
  await stage.worker([defineAgent({ name: "a", model })], {
    maxAttemptsWithoutProgress: maxAttempts,
    store: broken,
  });
  const turn = await stage.ask(await stage.session(), "go");
  expect(turn.status).toBe("error");
  expect(asked).toBe(0);
});
