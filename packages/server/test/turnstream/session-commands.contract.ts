/**
 * The contract of `ask`, `stream` and `waitForTurn` of `turnstream()`, in a folder and on servers: they run turns in a
 * process that never listens, and a message id gives the same turn again.
 */
import { EventEmitter, once } from "node:events";
import type { SessionEvent } from "@turnstream/protocol";
import { describe, expect, onTestFinished, test } from "vitest";
import { script } from "../../src/models/script-parts.ts";
import { scriptedModel } from "../../src/models/scripted-model.ts";
import { defineAgent } from "../../src/agent/define/agent.ts";
import { tool } from "../../src/agent/define/tool.ts";
import { archiveSession } from "../../src/session/archive/archive.ts";
import { withdrawMessage } from "../../src/session/messages/send.ts";
import type { TurnstreamOptions } from "../../src/turnstream/options.ts";
import { type Turnstream, turnstream } from "../../src/turnstream/turnstream.ts";

const HELLO = { id: "m1", text: "Hi" };

function openApp(options: Partial<TurnstreamOptions> = {}): Turnstream {
  const app = turnstream({ agents: [], user: () => "an", print: false, ...options });
  onTestFinished(() => app.close());
  return app;
}

/** Answers with the number of its calls, so that a second call shows. */
function countingAgent() {
  let calls = 0;
  const model = scriptedModel(() => [script.reasoning("Let me see."), script.text(`Answer ${++calls}.`)]);
  return defineAgent({ name: "counting", title: false, model });
}

/** Writes some text, waits in a tool until `release`, and writes the rest. */
function waitingAgent(options: { readonly approval?: boolean } = {}) {
  const signal = new EventEmitter();
  const released = options.approval === true ? "done" : once(signal, "release").then(() => "done");
  const started = once(signal, "start");
  const model = scriptedModel(({ step }) =>
    step === 0 ? [script.text("One moment."), script.toolCall("wait")] : [script.text("Done.")],
  );
  const run = () => {
    signal.emit("start");
    return released;
  };
  const agent = defineAgent({
    name: "waiting",
    title: false,
    model,
    tools: { wait: tool({ ...options, run }) },
  });
  return { agent, started, release: () => void signal.emit("release") };
}

async function collect<Item>(items: AsyncIterable<Item>): Promise<Item[]> {
  const all: Item[] = [];
  for await (const item of items) all.push(item);
  return all;
}

/** Handles the rejection at once, so that a test can wait for something else before it. */
function rejection(promise: Promise<unknown>): Promise<unknown> {
  return promise.then(
    () => "not rejected",
    (error: unknown) => error,
  );
}

/** Returns how the events of a whole turn read, whether or not deltas were merged. */
function outline(events: readonly SessionEvent[]): string[] {
  const types = events.map(({ type }) => type);
  return types.filter((type, n) => type !== types[n - 1]);
}

/** Archives the session and drops its whole log, as happens some minutes after a turn. */
async function dropLog(app: Turnstream, session: string, how: "trim" | "remove"): Promise<void> {
  const parts = await app.parts();
  const ref = { tenant: "default", session };
  const { cursor } = await archiveSession(parts, ref);
  if (how === "trim") expect(await parts.log.trim(ref, cursor)).toBe(true);
  else await parts.log.remove(ref);
}

export function sessionCommandsContract(
  name: string,
  openSettings: () => Promise<Partial<TurnstreamOptions>>,
): void {
  const open = async (options: Partial<TurnstreamOptions>) =>
    openApp({ ...(await openSettings()), ...options });

  describe(`commands on sessions ${name}`, () => {
    test("ask returns the answer without `listen`, and the same answer for the same id", async () => {
      const app = await open({ agents: [countingAgent()] });
      const { id } = await app.sessions.create({ user: "an" });
      expect(await app.sessions.ask(id, HELLO)).toBe("Answer 1.");
      expect(await app.sessions.ask(id, HELLO)).toBe("Answer 1.");
      expect(await app.sessions.ask(id, "Hi")).toBe("Answer 2.");
      await dropLog(app, id, "remove");
      expect(await app.sessions.ask(id, HELLO)).toBe("Answer 1.");
      expect(await app.sessions.waitForTurn(id, "m1")).toMatchObject({ status: "end_turn", number: 1 });
      expect((await app.sessions.read(id)).state.turns.length).toBe(2);
    });

    test.each(["trim", "remove"] as const)(
      "stream yields a turn while it runs, later, and after a %s of its log",
      async (how) => {
        const { agent, release } = waitingAgent();
        const app = await open({ agents: [agent] });
        const { id } = await app.sessions.create({ user: "an" });
        const stream = app.sessions.stream(id, HELLO);
        const events: SessionEvent[] = [];
        for await (const event of stream) {
          events.push(event);
          if (event.type === "tool_result.start") release();
        }
        expect(events.map(({ type }) => type)).toEqual(
          expect.arrayContaining(["text.delta", "tool_call.end", "tool_result.end"]),
        );
        expect([events[0]?.type, events.at(-1)?.type]).toEqual(["turn.start", "turn.end"]);
        expect(await collect(stream)).toEqual(events);
        await app.sessions.ask(id, "Again");
        await dropLog(app, id, how);
        expect(outline(await collect(app.sessions.stream(id, HELLO)))).toEqual(outline(events));
        const texts = await collect(stream.text());
        expect(texts.join("")).toBe("One moment.\n\nDone.");
        expect(await app.sessions.ask(id, HELLO)).toBe("One moment.\n\nDone.");
        expect((await app.sessions.read(id)).state.turns.length).toBe(2);
      },
    );

    test("text arrives while the turn runs, and a reader may leave", async () => {
      const { agent, release } = waitingAgent();
      const app = await open({ agents: [agent] });
      const { id } = await app.sessions.create({ user: "an" });
      let text = "";
      for await (const piece of app.sessions.stream(id, HELLO).text()) {
        text += piece;
        if (text === "One moment.") break;
      }
      release();
      expect(await app.sessions.ask(id, HELLO)).toBe("One moment.\n\nDone.");
    });

    test("the text of sub-agents is not part of the answer", async () => {
      const detail = defineAgent({ name: "detail", model: scriptedModel([[script.text("A detail.")]]) });
      const model = scriptedModel(({ step }) =>
        step === 0 ? [script.toolCall("detail", { task: "Look" })] : [script.text("The answer.")],
      );
      const app = await open({
        agents: [defineAgent({ name: "main", title: false, model, subAgents: { detail } })],
      });
      const { id } = await app.sessions.create({ user: "an" });
      expect((await collect(app.sessions.stream(id, HELLO).text())).join("")).toBe("The answer.");
      expect(await app.sessions.ask(id, HELLO)).toBe("The answer.");
    });

    test("a failed turn rejects with what it failed with", async () => {
      const failure = script.error({ status: 401, message: "The key is missing." });
      const agents = [defineAgent({ name: "failing", title: false, model: scriptedModel([[failure]]) })];
      const app = await open({ agents });
      const { id } = await app.sessions.create({ user: "an" });
      const failed = { name: "TurnError", code: "FAILED", reason: "LLM_ERROR" };
      await expect(app.sessions.ask(id, HELLO)).rejects.toMatchObject(failed);
      await expect(collect(app.sessions.stream(id, HELLO).text())).rejects.toMatchObject(failed);
      expect(await app.sessions.waitForTurn(id, "m1")).toMatchObject({ status: "error" });
    });

    test("a stopped turn and a withdrawn message reject", async () => {
      const { agent, started } = waitingAgent();
      const app = await open({ agents: [agent] });
      const { id } = await app.sessions.create({ user: "an" });
      const stopped = rejection(app.sessions.ask(id, HELLO));
      await started;
      await app.sessions.send(id, { id: "m2", text: "Forget this" });
      const withdrawn = rejection(app.sessions.ask(id, { id: "m2", text: "Forget this" }));
      await withdrawMessage(await app.parts(), { tenant: "default", session: id }, "m2");
      expect(await withdrawn).toMatchObject({ code: "WITHDRAWN" });
      await app.sessions.stop(id);
      expect(await stopped).toMatchObject({ code: "STOPPED" });
      expect(await rejection(app.sessions.waitForTurn(id, "m2"))).toMatchObject({ code: "WITHDRAWN" });
    });

    test("waits for the user's decision, until the signal is aborted", async () => {
      const { agent } = waitingAgent({ approval: true });
      const app = await open({ agents: [agent] });
      const { id } = await app.sessions.create({ user: "an" });
      const leaving = new AbortController();
      const left = rejection(app.sessions.ask(id, HELLO, leaving));
      for await (const event of app.sessions.stream(id, HELLO)) {
        if (event.type !== "approval.request") continue;
        leaving.abort(new Error("enough"));
        expect(await left).toMatchObject({ message: "enough" });
        await app.sessions.decide(id, { key: event.key, decision: "approve" });
      }
      expect(await app.sessions.ask(id, HELLO)).toBe("One moment.\n\nDone.");
    });

    test("a process that runs no turns waits for those that do, until it is closed", async () => {
      const app = await open({ agents: [countingAgent()], runsTurns: false });
      await app.gateway();
      const { id } = await app.sessions.create({ user: "an" });
      const closed = rejection(app.sessions.ask(id, HELLO));
      const { store } = await app.parts();
      await expect
        .poll(async () => (await store.queuedMessages.list({ tenant: "default", session: id })).length)
        .toBe(1);
      expect(await store.leases.status()).toMatchObject({ anyLive: false });
      await app.close();
      expect(await closed).toMatchObject({ code: "CLOSED" });
    });
  });
}
