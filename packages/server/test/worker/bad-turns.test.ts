/**
 * Tests turns during which processes die: they run alone, and end with a notice after several deaths. The deaths are made
 * in the store, and its clock is advanced over the delays.
 */
import { once } from "node:events";
import { listBlocks } from "@turnstream/protocol";
import { afterEach, expect, test, vi } from "vitest";
import { createMemoryLog } from "../../src/log/memory.ts";
import { script } from "../../src/models/script-parts.ts";
import { scriptedModel } from "../../src/models/scripted-model.ts";
import { defineAgent } from "../../src/agent/define/agent.ts";
import { tool } from "../../src/agent/define/tool.ts";
import { retryTurn } from "../../src/session/messages/retry-turn.ts";
import { createMemorySignals } from "../../src/signals/memory.ts";
import { createMemoryStore } from "@turnstream/testing";
import { MAX_DEATHS } from "../../src/store/turn-queue.ts";
import { systemEnv } from "../../src/util/env.ts";
import type { SessionRef } from "../../src/util/refs.ts";
import { TurnHarness } from "../engine/turn-harness.ts";

let harness: TurnHarness;
let aheadMs = 0;
async function open(): Promise<TurnHarness> {
  aheadMs = 0;
  const env = { ...systemEnv, now: () => systemEnv.now() + aheadMs };
  const backend = { log: createMemoryLog(), store: createMemoryStore(env), signals: createMemorySignals() };
  harness = await TurnHarness.open(backend);
  return harness;
}
afterEach(() => harness.close());

/** Waits until workers have polled some more times. */
async function polledAgain({
  mock,
}: {
  readonly mock: { readonly calls: readonly unknown[] };
}): Promise<void> {
  const before = mock.calls.length;
  await vi.waitUntil(() => mock.calls.length > before + 5, { timeout: 60_000 });
}

/** Starts the turn of a session in processes that die. */
async function die(ref: SessionRef, deaths: number): Promise<void> {
  const { queue, leases } = harness.backend.store;
  for (let n = 0; n < deaths; n++) {
    aheadMs += 60_000;
    const executor = `dead-${n}`;
    await leases.take(executor, 1_000);
    expect(await queue.start({ executor, agents: ["a"], limit: 1, isIdle: true })).toMatchObject([
      { held: ref },
    ]);
    expect(await queue.recover(executor, { limit: 10 })).toBe(1);
    await leases.release(executor, executor);
  }
  aheadMs += 60_000;
}

function countingAgent(delayMs = 300) {
  const calls = { sum: 0 };
  const model = scriptedModel(() => {
    calls.sum++;
    return [script.delay(delayMs), script.text("done")];
  });
  return { calls, agent: defineAgent({ name: "a", model, title: false }) };
}

test("a turn during which five processes died ends with a notice, calls no model, and can be restarted", async () => {
  await open();
  const ref = await harness.session();
  await harness.send(ref, "go");
  await die(ref, MAX_DEATHS);
  const { agent, calls } = countingAgent();
  await harness.worker([agent]);
  const turn = await harness.ended(ref, () => true);
  expect(turn.status).toBe("error");
  expect(calls.sum).toBe(0);
  expect(listBlocks(turn).at(-1)).toMatchObject({
    kind: "notice",
    error: { code: "SERVER_ERROR", can_retry: true },
  });
  const { queue } = harness.backend.store;
  expect(await queue.dead({ limit: 10 })).toMatchObject([{ ...ref, turn: turn.id, deaths: MAX_DEATHS }]);
  const retried = await retryTurn(harness.backend, ref, turn.id);
  expect((await harness.ended(ref, ({ id }) => id === retried.turn)).status).toBe("end_turn");
  expect(await queue.dead({ limit: 10 })).toEqual([]);
});

test("a turn during which two processes died runs while no other turn runs in its worker", async () => {
  await open();
  const bad = await harness.session();
  await harness.send(bad, "go");
  await die(bad, 2);
  const gate = new AbortController();
  const opened = once(gate.signal, "abort");
  const wait = tool({ idempotent: true, run: () => opened.then(() => "waited") });
  const model = scriptedModel([[script.toolCall("wait")], [script.text("done")]]);
  const agent = defineAgent({ name: "a", model, tools: { wait }, title: false });
  const others = await Promise.all(Array.from({ length: 5 }, () => harness.session()));
  const polls = vi.spyOn(harness.backend.store.queue, "wakeDue");
  const worker = await harness.worker([agent], { pollIntervalMs: 20 });
  await harness.until(bad, 10_000, ({ turns }) => (turns.last() === undefined ? null : true));
  for (const ref of others) await harness.send(ref, "go");
  await polledAgain(polls);
  expect(worker.running).toBe(1);
  for (const ref of others) expect((await harness.state(ref)).turns.length).toBe(0);
  gate.abort();
  expect((await harness.ended(bad, () => true)).status).toBe("end_turn");
  for (const ref of others) expect((await harness.ended(ref, () => true)).status).toBe("end_turn");
});

test("one death changes nothing for the user", async () => {
  await open();
  const ref = await harness.session();
  await harness.send(ref, "go");
  await die(ref, 1);
  const { agent } = countingAgent();
  await harness.worker([agent]);
  expect((await harness.ended(ref, () => true)).status).toBe("end_turn");
});

test("workers take only turns of their own agents", async () => {
  await open();
  const ran: string[] = [];
  const agent = (name: string) =>
    defineAgent({
      name,
      model: scriptedModel(() => {
        ran.push(name);
        return [script.text(name)];
      }),
      title: false,
    });
  await harness.worker([agent("a")], { pollIntervalMs: 20 });
  const second = await harness.worker([agent("b")]);
  const ref = await harness.session();
  for (const name of ["b", "a", "b"])
    expect((await harness.ask(ref, "go", { agent: name })).agent).toBe(name);
  expect(ran).toEqual(["b", "a", "b"]);
  await second.shutdown();
  // No worker has this agent now, so the turn waits for one.
  await harness.send(ref, "later", { agent: "b" });
  await polledAgain(vi.spyOn(harness.backend.store.queue, "wakeDue"));
  expect((await harness.state(ref)).turns.toArray()).toHaveLength(3);
  await harness.worker([agent("b")]);
  expect((await harness.ended(ref, ({ message }) => message?.text === "later")).status).toBe("end_turn");
});
