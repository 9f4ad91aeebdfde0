/** Tests that no disturbance of the log, the store or the worker makes a turn ask a model twice. In memory. */
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { LogError } from "../../../src/log/errors.ts";
import type { Log } from "../../../src/log/log.ts";
import { createMemoryLog } from "../../../src/log/memory.ts";
import type { Model } from "../../../src/models/model.ts";
import { script } from "../../../src/models/script-parts.ts";
import { type Script, scriptedModel } from "../../../src/models/scripted-model.ts";
import { defineAgent } from "../../../src/agent/define/agent.ts";
import { tool } from "../../../src/agent/define/tool.ts";
import { sendMessage } from "../../../src/session/messages/send.ts";
import { createMemorySignals } from "../../../src/signals/memory.ts";
import { StoreError } from "../../../src/store/errors.ts";
import { createMemoryStore } from "@turnstream/testing";
import type { ClosableStore } from "../../../src/store/store.ts";
import { systemEnv } from "../../../src/util/env.ts";
import { outline, TurnHarness } from "../turn-harness.ts";

/** Set by a test: called before each append and each commit of a step, and may throw. */
const faults = { append: (): void => {}, commit: (): void => {} };
let harness: TurnHarness;
beforeEach(async () => {
  faults.append = faults.commit = () => {};
  harness = await TurnHarness.open({
    log: faultyLog(createMemoryLog()),
    store: faultyStore(createMemoryStore()),
    signals: createMemorySignals(),
  });
});
afterEach(() => harness.close());

function faultyLog(log: Log): Log {
  return {
    ...log,
    append: async (...args) => {
      faults.append();
      return log.append(...args);
    },
  };
}

function faultyStore(store: ClosableStore): ClosableStore {
  return {
    ...store,
    transaction: (work) =>
      store.transaction(async (tx) => {
        const result = await work(tx);
        faults.commit();
        return result;
      }),
  };
}

/** Throws the error `times` times, from the `after`th call on. */
function failing(error: () => Error, { after, times }: { after: number; times: number }): () => void {
  let calls = 0;
  return () => {
    if (++calls > after && calls <= after + times) throw error();
  };
}

function counting(replies: Script): { readonly model: Model; calls: number } {
  const inner = scriptedModel(replies);
  const counted = {
    calls: 0,
    model: {
      ...inner,
      doStream: (...args: Parameters<Model["doStream"]>) => {
        counted.calls++;
        return inner.doStream(...args);
      },
    } as Model,
  };
  return counted;
}

const USED = { input_tokens: 60, output_tokens: 40, total_tokens: 100, calls: 1 };
const NO_LIMITS = {
  queuedMessages: null,
  runningTurns: null,
  storedBytes: null,
  tokensPerDay: null,
  tokensPerMonth: null,
  costPerDay: null,
  costPerMonth: null,
};
const LONG = "a long answer of much text ".repeat(8);
const slowText = script.text(LONG, { paceMs: 4 });

const sub = (name: string, { model }: { readonly model: Model }) =>
  defineAgent({ name, model, retry: { initialDelayMs: 1 } });
const agentOf = (model: Model, tools = {}) => defineAgent({ name: "a", model, tools, title: false });

describe("restarted attempt", () => {
  it.each(["UNCLAIMED", "FENCED"] as const)("reads the answer again after %s", async (code) => {
    const model = counting([[slowText]]);
    await harness.worker([defineAgent({ name: "a", model: model.model })]);
    faults.append = failing(() => new LogError(code), { after: 4, times: 1 });
    const turn = await harness.ask(await harness.session(), "go");
    expect(turn.status).toBe("end_turn");
    expect(outline(turn)).toEqual([`text final ${LONG}`]);
    expect(turn.usage?.calls).toBe(1);
    expect(model.calls).toBe(1);
  });

  it("restarts many times with one call, and with the call ids of the first answer", async () => {
    const model = counting([[slowText, script.toolCall("look", { n: 1 })], [slowText]]);
    const look = tool({ idempotent: true, run: () => "seen" });
    await harness.worker([defineAgent({ name: "a", model: model.model, tools: { look } })]);
    let appends = 0;
    faults.append = () => {
      if (++appends % 9 === 0 && appends < 60) throw new LogError("UNCLAIMED");
    };
    const turn = await harness.ask(await harness.session(), "go");
    expect(turn.status).toBe("end_turn");
    expect(outline(turn).at(-1)).toBe(`text final ${LONG}`);
    expect(turn.usage?.calls).toBe(2);
    expect(model.calls).toBe(2);
  });

  it("keeps the steps of parallel sub-agents when the stream of one breaks", async () => {
    const broken = counting([
      [script.text("first part ", { paceMs: 2 }), script.disconnect({ times: 1 }), slowText],
    ]);
    const sibling = counting([[slowText]]);
    const main = counting([
      [script.toolCall("one", { task: "x" }), script.toolCall("two", { task: "y" })],
      [script.text("both are done")],
    ]);
    const agent = defineAgent({
      name: "a",
      model: main.model,
      subAgents: { one: sub("one", broken), two: sub("two", sibling) },
    });
    await harness.worker([agent]);
    const turn = await harness.ask(await harness.session(), "go");
    expect(turn.status).toBe("end_turn");
    expect([main.calls, broken.calls, sibling.calls]).toEqual([2, 2, 1]);
  });

  it("uses an answer although the usage limit was reached meanwhile", async () => {
    const model = counting([[slowText]]);
    const { store } = harness.backend;
    await harness.worker([defineAgent({ name: "a", model: model.model })]);
    const { tenant, user } = harness.actor;
    const used = { key: "other", user, apiKey: null, model: "m", turns: 1, cost: 0, ...USED };
    faults.append = failing(() => new LogError("UNCLAIMED"), { after: 4, times: 1 });
    const ref = await harness.session();
    const limits = {
      owner: { ...harness.actor, apiKey: null },
      user: { ...NO_LIMITS, tokensPerDay: 50 },
      key: NO_LIMITS,
      tenant: NO_LIMITS,
    };
    await sendMessage(harness.backend, ref, { id: "m1", text: "go", userId: user, limits });
    await harness.until(ref, 20_000, (state) => ((state.turns.last()?.items.length ?? 0) > 0 ? true : null));
    await store.usage.add(tenant, used);
    const turn = await harness.ended(ref, () => true);
    expect(turn.status).toBe("end_turn");
    expect(model.calls).toBe(1);
    const takeovers = (await harness.events(ref)).filter(({ type }) => type === "turn.takeover");
    expect(takeovers).toHaveLength(1);
    expect(await store.limits.findExceededUsage({ tenant, user, apiKey: null }, limits)).not.toBeNull();
  });

  it("ends the call of a turn that the user stops", async () => {
    let aborted = 0;
    const inner = scriptedModel([[script.text(LONG, { paceMs: 20 })]]);
    const model: Model = {
      ...inner,
      doStream: (request) => {
        request.abortSignal?.addEventListener("abort", () => aborted++);
        return inner.doStream(request);
      },
    };
    await harness.worker([defineAgent({ name: "a", model })]);
    const ref = await harness.session();
    await harness.send(ref, "go");
    await harness.until(ref, 20_000, (state) => ((state.turns.last()?.items.length ?? 0) > 0 ? true : null));
    await harness.stop(ref);
    const turn = await harness.ended(ref, () => true);
    expect(turn.status).toBe("user_stopped");
    expect(aborted).toBe(1);
  });
});

describe("unavailable store", () => {
  it("commits a step again, in the same attempt", async () => {
    const model = counting([[script.text("short")]]);
    await harness.worker([defineAgent({ name: "a", model: model.model, title: false })]);
    const ref = await harness.session();
    // The faults start with the first event, so that only commits of the attempt fail.
    let left = 0;
    faults.append = () => {
      if (left === 0) left = 3;
    };
    faults.commit = () => {
      if (left > 0 && left-- > 0) throw new StoreError("UNAVAILABLE", "the database is away");
    };
    const turn = await harness.ask(ref, "go");
    expect(turn.status).toBe("end_turn");
    expect(model.calls).toBe(1);
    const takeovers = (await harness.events(ref)).filter(({ type }) => type === "turn.takeover");
    expect(takeovers).toEqual([]);
  });
});

describe("shutdown with a drain time", () => {
  it("lets the last step end, and the turn with it", async () => {
    const model = counting([[slowText]]);
    const worker = await harness.worker([agentOf(model.model)]);
    const ref = await harness.session();
    await harness.send(ref, "go");
    await harness.until(ref, 20_000, (state) => ((state.turns.last()?.items.length ?? 0) > 0 ? true : null));
    await worker.shutdown({ drainMs: 20_000 });
    const turn = await harness.ended(ref, () => true, 1);
    expect(outline(turn)).toEqual([`text final ${LONG}`]);
    expect(model.calls).toBe(1);
  });

  it("hands the turn over between two steps, so that each step is asked once", async () => {
    const model = counting([[slowText, script.toolCall("look")], [slowText]]);
    const look = tool({ idempotent: true, run: () => "seen" });
    const first = await harness.worker([agentOf(model.model, { look })]);
    const ref = await harness.session();
    await harness.send(ref, "go");
    await harness.until(ref, 20_000, (state) => ((state.turns.last()?.items.length ?? 0) > 0 ? true : null));
    await first.shutdown({ drainMs: 20_000 });
    expect([model.calls, first.running]).toEqual([1, 0]);
    expect(await harness.backend.store.running.get(ref)).not.toBeNull();
    await harness.worker([agentOf(model.model, { look })]);
    const turn = await harness.ended(ref, () => true);
    expect(turn.status).toBe("end_turn");
    expect(model.calls).toBe(2);
  });

  it("waits for a running tool, and aborts what still runs after the time", async () => {
    const model = counting([[script.toolCall("work")], [script.text("done")]]);
    let runs = 0;
    let signalled = 0;
    const stuck = tool({
      idempotent: true,
      run: (_, { signal }) => {
        runs++;
        signal.addEventListener("abort", () => signalled++);
        return new Promise(() => {});
      },
    });
    const first = await harness.worker([agentOf(model.model, { work: stuck })]);
    const ref = await harness.session();
    await harness.send(ref, "go");
    await expect.poll(() => runs).toBe(1);
    const left = first.shutdown({ drainMs: 500 });
    await new Promise((resolve) => setImmediate(resolve));
    expect(signalled).toBe(0);
    await left;
    expect(signalled).toBe(1);
    await harness.worker([agentOf(model.model, { work: tool({ idempotent: true, run: () => "again" }) })]);
    expect((await harness.ended(ref, () => true)).status).toBe("end_turn");
    expect(model.calls).toBe(2);
  });

  it("doesn't wait for a turn that waits for its user", async () => {
    const model = counting([[script.toolCall("pay")], [script.text("done")]]);
    const pay = tool({ approval: true, run: () => "paid" });
    const worker = await harness.worker([agentOf(model.model, { pay })]);
    const ref = await harness.session();
    await harness.send(ref, "go");
    await harness.until(ref, 20_000, (state) =>
      state.turns
        .last()
        ?.items.toArray()
        .some((item) => item?.kind === "approval")
        ? true
        : null,
    );
    // Waiting would take longer than the test may.
    await worker.shutdown({ drainMs: 3_600_000 });
    expect(await harness.backend.store.running.get(ref)).not.toBeNull();
  });
});

describe("jump of the worker's clock", () => {
  it.each([3_600_000, -3_600_000])("by %i ms ends no turn", async (jumpMs) => {
    const clock = { jumpMs: 0 };
    const env = { ...systemEnv, now: () => systemEnv.now() + clock.jumpMs };
    const model = counting([[slowText]]);
    const agent = defineAgent({ name: "a", model: model.model, limits: { timeoutMs: 60_000 } });
    await harness.worker([agent], { env });
    const ref = await harness.session();
    faults.append = failing(() => new LogError("UNCLAIMED"), { after: 4, times: 1 });
    await harness.send(ref, "go");
    await harness.until(ref, 20_000, (state) => ((state.turns.last()?.items.length ?? 0) > 0 ? true : null));
    clock.jumpMs = jumpMs;
    const turn = await harness.ended(ref, () => true);
    expect(turn.status).toBe("end_turn");
    expect(model.calls).toBe(1);
    expect(turn.duration_ms).toBeLessThan(60_000);
  });
});
