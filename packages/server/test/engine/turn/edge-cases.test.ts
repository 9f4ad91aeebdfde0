/** Tests rare courses of a turn that failed once or easily could. In memory. */
import { afterEach, describe, expect, it } from "vitest";
import { z } from "zod";
import { listBlocks } from "@turnstream/protocol";
import { LogError } from "../../../src/log/errors.ts";
import type { AppendBatch, Log } from "../../../src/log/log.ts";
import { createMemoryLog, MemoryEngine } from "../../../src/log/memory.ts";
import { createStreamLog } from "../../../src/log/stream-log.ts";
import type { Prompt } from "../../../src/models/model.ts";
import { script } from "../../../src/models/script-parts.ts";
import { scriptedModel } from "../../../src/models/scripted-model.ts";
import { defineAgent } from "../../../src/agent/define/agent.ts";
import { defineStreamAgent } from "../../../src/agent/define/stream-agent.ts";
import { tool } from "../../../src/agent/define/tool.ts";
import { createMemorySignals } from "../../../src/signals/memory.ts";
import { StoreError } from "../../../src/store/errors.ts";
import { createMemoryStore } from "@turnstream/testing";
import type { Journal } from "../../../src/store/journal.ts";
import { type SessionRef, sessionKey } from "../../../src/util/refs.ts";
import { outline, TurnHarness } from "../turn-harness.ts";

let harness: TurnHarness;
const open = async (log: Log = createMemoryLog()): Promise<TurnHarness> =>
  (harness = await TurnHarness.open({ log, store: createMemoryStore(), signals: createMemorySignals() }));
afterEach(() => harness.close());

const look = tool({ idempotent: true, run: () => "seen" });

/** Loses the newest entries, like a failover. */
class LossyEngine extends MemoryEngine {
  lose(session: string, count: number): void {
    const stream = this.streams.get(session);
    this.timeline++;
    stream?.entries.splice(stream.entries.length - count, count);
  }
}

describe("log that loses acknowledged entries before they are archived", () => {
  it.each(["tool_call.end", "text.end", "turn.end"])(
    "ends the turn normally after losing a %s",
    async (type) => {
      const engine = new LossyEngine();
      await open(createStreamLog(engine, {}));
      let isLost = false;
      const { log } = harness.backend;
      const lossy: Log = Object.assign(Object.create(log) as Log, {
        append: async (ref: SessionRef, batch: AppendBatch) => {
          const appended = await log.append(ref, batch);
          if (!isLost && batch.events.at(-1)?.type === type) {
            isLost = true;
            engine.lose(sessionKey(ref), batch.events.length);
          }
          return appended;
        },
      });
      const model = scriptedModel([[script.toolCall("look")], [script.text("done")]]);
      await harness.worker([defineAgent({ name: "a", model, tools: { look } })], { log: lossy });
      const ref = await harness.session();
      const turn = await harness.ask(ref, "go");
      expect(isLost).toBe(true);
      expect(outline(turn)).toEqual([
        "(",
        "call look {}",
        "result look success seen",
        ") Look",
        "text final done",
      ]);
      expect((await harness.ask(ref, "again")).status).toBe("end_turn");
    },
  );
});

it("an event that the log refuses ends the turn, and no retry is offered", async () => {
  await open();
  const { log } = harness.backend;
  const strict: Log = Object.assign(Object.create(log) as Log, {
    append: async (ref: SessionRef, batch: AppendBatch) => {
      if (batch.events.some((event) => event.type === "text.delta")) throw new LogError("TOO_LARGE");
      return log.append(ref, batch);
    },
  });
  await harness.worker([defineAgent({ name: "a", model: scriptedModel([[script.text("much")]]) })], {
    log: strict,
  });
  const turn = await harness.ask(await harness.session(), "go");
  expect(turn.status).toBe("error");
  expect(listBlocks(turn).at(-1)).toMatchObject({ error: { code: "SERVER_ERROR", can_retry: false } });
});

describe("branches", () => {
  it("stay separate if their models use the same call ids", async () => {
    await open();
    const helper = defineAgent({
      name: "helper",
      model: scriptedModel(({ step, text }) =>
        step === 0 ? [script.toolCall("ask", { of: text }, { id: "call_0" })] : [script.text(text)],
      ),
      tools: {
        ask: tool({
          input: z.object({ of: z.string() }),
          // Such a label delays the call until its input is known.
          label: ({ of }) => `Asking ${of}`,
          run: async ({ of }) => {
            await new Promise((resolve) => setImmediate(resolve));
            return `secret of ${of}`;
          },
        }),
      },
    });
    const model = scriptedModel([
      [
        script.toolCall("helper", { task: "A" }, { id: "call_0" }),
        script.toolCall("helper", { task: "B" }, { id: "call_0" }),
      ],
      [script.text("ok")],
    ]);
    await harness.worker([defineAgent({ name: "a", model, subAgents: { helper } })]);
    const turn = await harness.ask(await harness.session(), "go");
    const results = outline(turn).filter((line) => line.includes("result ask"));
    expect(results.map((line) => line.replace(/^r\d: /, "")).toSorted()).toEqual([
      "result ask success secret of A",
      "result ask success secret of B",
    ]);
  });

  it("wait for a tool that must not run again when another branch restarts", async () => {
    await open();
    let runs = 0;
    let disconnect!: () => void;
    const disconnected = new Promise<void>((done) => (disconnect = done));
    const pay = tool({
      run: async () => {
        runs++;
        await disconnected;
        for (let n = 0; n < 50; n++) await new Promise((resolve) => setImmediate(resolve));
        return "paid";
      },
    });
    const helper = defineAgent({
      name: "helper",
      retry: { initialDelayMs: 5 },
      model: scriptedModel(() => {
        disconnect();
        return [script.text("half"), script.disconnect({ times: 1 })];
      }),
    });
    const model = scriptedModel([
      [script.toolCall("pay"), script.toolCall("helper", { task: "x" })],
      [script.text("ok")],
    ]);
    await harness.worker([defineAgent({ name: "a", model, tools: { pay }, subAgents: { helper } })]);
    const turn = await harness.ask(await harness.session(), "go");
    expect(runs).toBe(1);
    expect(outline(turn)).toContain("result pay success paid");
    expect(outline(turn)).toContain("result helper success half");
  });
});

describe("tool that must not run again", () => {
  it("is reported to the model with an unknown outcome if it was stopped while it ran", async () => {
    await open();
    const prompts: Prompt[] = [];
    const pay = tool({ run: () => new Promise(() => {}) });
    const model = scriptedModel(({ prompt, turn }) => {
      prompts.push(prompt);
      return turn === 1 ? [script.toolCall("pay")] : [script.text("ok")];
    });
    await harness.worker([defineAgent({ name: "a", model, tools: { pay } })]);
    const ref = await harness.session();
    await harness.send(ref, "pay");
    await harness.until(ref, 30_000, (state) => ((state.turns.last()?.open ?? 0) > 0 ? true : null));
    await harness.stop(ref);
    await harness.ended(ref, () => true);
    await harness.ask(ref, "did it?");
    expect(JSON.stringify(prompts.at(-1))).toContain("It is unknown whether it took effect");
  });

  it("keeps its outcome during a short outage of the database", async () => {
    await open();
    const { store } = harness.backend;
    let failures = 3;
    const shaky = {
      ...store,
      journal: {
        ...store.journal,
        write: (...args: Parameters<typeof store.journal.write>) => {
          if (args[1]?.key.startsWith("call/") === true && failures-- > 0)
            return Promise.reject(new StoreError("UNAVAILABLE", "the database"));
          return store.journal.write(...args);
        },
      },
    };
    let runs = 0;
    const pay = tool({ run: () => `paid ${++runs}` });
    const model = scriptedModel([[script.toolCall("pay")], [script.text("ok")]]);
    await harness.worker([defineAgent({ name: "a", model, tools: { pay } })], { store: shaky });
    const turn = await harness.ask(await harness.session(), "pay");
    expect(outline(turn)).toContain("result pay success paid 1");
    expect(runs).toBe(1);
  });
});

// oxlint-disable-next-line require-yield
async function* fails(): AsyncGenerator<never> {
  throw new StoreError("NOT_FOUND", "session of their own");
}

describe("frozen worker", () => {
  it.each(["gets its epoch", "claims the log"])(
    "that wakes up before it %s takes nothing from the worker that has the turn by then",
    async (place) => {
      await open();
      const { store, log } = harness.backend;
      const ref = await harness.session();
      // A turn that starts while the log is away gets its epoch later, in its own commit.
      let isAway = place === "gets its epoch";
      const returning: Log = Object.assign(Object.create(log) as Log, {
        head: (of: SessionRef) => {
          if (!isAway || of.session !== ref.session) return log.head(of);
          isAway = false;
          return Promise.reject(new LogError("UNAVAILABLE"));
        },
      });
      const gate = new AbortController();
      const awake = new Promise<void>((resolve) =>
        gate.signal.addEventListener("abort", () => resolve(), { once: true }),
      );
      let isFrozen = false;
      const freeze = <A extends unknown[], T>(call: (...args: A) => Promise<T>) => {
        return async (...args: A): Promise<T> => {
          isFrozen = true;
          await awake;
          return call(...args);
        };
      };
      const renew = (executor: string, ttlMs: number): Promise<boolean> =>
        isFrozen ? awake.then(() => false) : store.leases.renew(executor, ttlMs);
      const frozen = {
        ...store,
        journal: {
          ...store.journal,
          read: freeze((...args: Parameters<Journal["read"]>) => store.journal.read(...args)),
        },
        // Its lease expires meanwhile.
        leases: { ...store.leases, renew },
      };
      const agent = defineAgent({
        name: "a",
        model: scriptedModel([[script.text("one "), script.text("answer", { paceMs: 20 })]]),
      });
      const options = { store: frozen, log: returning, leaseTtlMs: 200, onError: () => {} };
      await harness.crashingWorker([agent], options);
      await harness.send(ref, "go");
      await harness.until(ref, 30_000, () => (isFrozen ? true : null));
      // The worker checks for expired leases every two seconds.
      await harness.worker([agent], { leaseTtlMs: 6_000 });
      await harness.until(ref, 40_000, (state) => ((state.turns.last()?.open ?? 0) > 0 ? true : null));
      gate.abort();
      const turn = await harness.ended(ref, () => true);
      expect(turn.status).toBe("end_turn");
      expect((await harness.events(ref)).filter(({ type }) => type === "turn.takeover")).toEqual([]);
    },
  );
});

describe("unusual streams", () => {
  it("data that is not an image is not shown and causes no failure", async () => {
    await open();
    let runs = 0;
    const draw = tool({
      idempotent: true,
      run: (_, context) => {
        runs++;
        context.image("javascript:alert(1)");
        context.image({ data: "no base64!", mediaType: "image/png" });
        context.image({ data: "AAAA", mediaType: "text/html" });
        return "drawn";
      },
    });
    await harness.worker([
      defineAgent({
        name: "a",
        model: scriptedModel([[script.toolCall("draw")], [script.text("ok")]]),
        tools: { draw },
      }),
    ]);
    const turn = await harness.ask(await harness.session(), "go");
    expect(outline(turn)).toContain("result draw success drawn");
    expect(listBlocks(turn).flatMap((block) => (block.kind === "tool_result" ? block.parts : []))).toEqual(
      [],
    );
    expect(harness.errors).toHaveLength(3);
    expect(runs).toBe(1);
  });

  it("a text is final although thinking follows it", async () => {
    await open();
    await harness.worker([
      defineAgent({
        name: "a",
        model: scriptedModel([[script.text("the answer"), script.reasoning("well done")]]),
      }),
    ]);
    const turn = await harness.ask(await harness.session(), "go");
    expect(outline(turn)).toContain("text final the answer");
  });

  it("a body that throws a store error fails its turn, and the next one starts", async () => {
    await open();
    const body = defineStreamAgent({
      name: "a",
      run: fails,
    });
    await harness.worker([body]);
    const ref = await harness.session();
    for (const text of ["one", "two"]) expect((await harness.ask(ref, text)).status).toBe("error");
  });

  it("arguments that are not an object are not sent back to the model", async () => {
    await open();
    const prompts: Prompt[] = [];
    const model = scriptedModel(({ prompt, step, turn }) => {
      prompts.push(prompt);
      return step === 0 && turn === 1
        ? [script.toolCall("look", {}, { raw: "[1, 2]" }), script.toolCall("look", {}, { raw: "{bad" })]
        : [script.text("ok")];
    });
    await harness.worker([defineAgent({ name: "a", model, tools: { look } })]);
    const ref = await harness.session();
    await harness.ask(ref, "go");
    await harness.ask(ref, "and?");
    for (const prompt of prompts.slice(1)) {
      const calls = prompt
        .flatMap((message) => (message.role === "assistant" ? message.content : []))
        .flatMap((part) => (part.type === "tool-call" ? [part.input] : []));
      expect(calls).toEqual([{}, {}]);
    }
  });

  it("two thinking blocks of one step are written in sequence", async () => {
    await open();
    const model = scriptedModel([
      [
        script.toolCall("share_thought", { thought: "one" }),
        script.toolCall("share_thought", { thought: "two" }),
      ],
      [script.text("ok")],
    ]);
    await harness.worker([defineAgent({ name: "a", model, shareThought: true })]);
    const turn = await harness.ask(await harness.session(), "go");
    expect(listBlocks(turn).flatMap((block) => (block.kind === "text" ? [block.text] : []))).toEqual([
      "one",
      "two",
      "ok",
    ]);
  });
});
