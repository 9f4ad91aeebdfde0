/** Tests retries that are requested while the worker still commits the failed turn, in memory with slow commits. */
import { listBlocks } from "@turnstream/protocol";
import { afterEach, expect, test } from "vitest";
import { createMemoryLog } from "../../../src/log/memory.ts";
import { script } from "../../../src/models/script-parts.ts";
import { scriptedModel } from "../../../src/models/scripted-model.ts";
import { defineAgent } from "../../../src/agent/define/agent.ts";
import { retryTurn } from "../../../src/session/messages/retry-turn.ts";
import { createMemorySignals } from "../../../src/signals/memory.ts";
import { createMemoryStore } from "@turnstream/testing";
import { sleep } from "../../../src/util/sleep.ts";
import type { ClosableStore } from "../../../src/store/store.ts";
import { TurnHarness } from "../../engine/turn-harness.ts";

const COMMIT_MS = 200;

let harness: TurnHarness;
afterEach(() => harness.close());

function openSlowly(): Promise<TurnHarness> {
  const store = createMemoryStore();
  const transaction: ClosableStore["transaction"] = async (work) => {
    await sleep(COMMIT_MS);
    return store.transaction(work);
  };
  return TurnHarness.open({
    log: createMemoryLog(),
    store: { ...store, transaction },
    signals: createMemorySignals(),
  });
}

test("a retry that is requested as soon as the error is visible starts a turn", async () => {
  harness = await openSlowly();
  const model = scriptedModel([[script.error({ status: 500 }, { times: 1 }), script.text("now it works")]]);
  await harness.worker([defineAgent({ name: "a", model, retry: { maxAttempts: 1 }, title: false })]);
  const ref = await harness.session();
  await harness.send(ref, "please");
  const failed = await harness.until(ref, 10_000, ({ turns }) => {
    const turn = turns.last();
    return turn !== undefined && listBlocks(turn).at(-1)?.kind === "notice" ? turn : null;
  });
  expect((await harness.backend.store.running.get(ref))?.turn).toBe(failed.id);
  const { receipt, turn } = await retryTurn(harness.backend, ref, failed.id);
  expect(receipt).toBe("retrying");
  expect((await harness.ended(ref, ({ id }) => id === turn)).status).toBe("end_turn");
});

test("a turn that still runs is not retried, and the answer doesn't wait for its end", async () => {
  harness = await openSlowly();
  const model = scriptedModel([[script.text("one"), script.hang()]]);
  await harness.worker([defineAgent({ name: "a", model, title: false })]);
  const ref = await harness.session();
  await harness.send(ref, "please");
  const running = await harness.until(ref, 10_000, ({ turns }) => turns.last() ?? null);
  expect(await retryTurn(harness.backend, ref, running.id)).toEqual({ receipt: "busy", turn: running.id });
  await harness.stop(ref);
});
