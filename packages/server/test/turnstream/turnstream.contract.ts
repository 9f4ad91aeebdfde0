/**
 * The contract of `turnstream()`, in a folder and on servers: one call serves a page that signs in, runs turns, prints a
 * line for each, and closes everything.
 */
import { EventEmitter, once } from "node:events";
import { listBlocks } from "@turnstream/protocol";
import { describe, expect, onTestFinished, test } from "vitest";
import { script } from "../../src/models/script-parts.ts";
import { scriptedModel } from "../../src/models/scripted-model.ts";
import { defineAgent } from "../../src/agent/define/agent.ts";
import { tool } from "../../src/agent/define/tool.ts";
import type { TurnstreamOptions } from "../../src/turnstream/options.ts";
import { turnstream } from "../../src/turnstream/turnstream.ts";

const buy = tool({ approval: true, run: () => "bought" });

const AGENTS = [
  defineAgent({ name: "helper", title: false, model: scriptedModel([[script.text("Hello An.")]]) }),
  defineAgent({
    name: "market",
    title: false,
    tools: { buy },
    model: scriptedModel([[script.toolCall("buy")], [script.text("Done.")]]),
  }),
  defineAgent({
    name: "failing",
    title: false,
    model: scriptedModel([[script.error({ status: 401, message: "The key is missing. Set MODEL_KEY." })]]),
  }),
];

/** Polls until the newest turn of a session has ended. */
async function ended(app: ReturnType<typeof turnstream>, session: string) {
  await expect
    .poll(async () => (await app.sessions.read(session)).state.turns.last()?.status ?? "running", {
      interval: 20,
    })
    .not.toBe("running");
  const turn = (await app.sessions.read(session)).state.turns.last();
  if (turn === undefined) throw new Error("the session has a turn");
  return turn;
}

export function turnstreamContract(
  name: string,
  openSettings: () => Promise<Partial<TurnstreamOptions>>,
): void {
  async function open(options: Partial<TurnstreamOptions> = {}) {
    const lines: string[] = [];
    const app = turnstream({
      agents: AGENTS,
      user: (request) => /user=(\w+)/.exec(request.headers.get("cookie") ?? "")?.[1] ?? null,
      print: (line) => lines.push(line),
      ...(await openSettings()),
      ...options,
    });
    onTestFinished(() => app.close());
    return { app, lines };
  }

  describe(`turnstream() ${name}`, () => {
    test("serves a signed-in page and answers", async () => {
      const { app, lines } = await open();
      const url = await app.listen(0);
      const call = (path: string, headers: Record<string, string>, body: object = {}) =>
        fetch(`${url}/api/v1${path}`, {
          method: "POST",
          headers: { "content-type": "application/json", ...headers },
          body: JSON.stringify(body),
        });
      expect((await call("/sign-in", {})).status).toBe(401);
      const signedIn = await call("/sign-in", { cookie: "user=an" });
      expect(signedIn.status).toBe(200);
      const { token, user_id } = (await signedIn.json()) as { token: string; user_id: string };
      expect(user_id).toBe("an");
      const auth = { authorization: `Bearer ${token}` };
      const created = (await (await call("/sessions", auth)).json()) as { session_id: string };
      const id = created.session_id;
      await app.sessions.send(id, "Hi");
      const turn = await ended(app, id);
      expect(listBlocks(turn).map((block) => ("text" in block ? block.text : ""))).toContain("Hello An.");
      await expect
        .poll(() => lines.filter((line) => /helper answered, .* s "Hi"$/.test(line)))
        .toHaveLength(1);
    });

    test("handles requests of a host, and runs turns in the same process", async () => {
      const { app } = await open();
      const request = (path: string, init: RequestInit) =>
        app.handle(new Request(`http://host.test/api/v1${path}`, init));
      const signedIn = await request("/sign-in", { method: "POST", headers: { cookie: "user=an" } });
      const { token } = (await signedIn.json()) as { token: string };
      const list = await request("/sessions", { headers: { authorization: `Bearer ${token}` } });
      expect(list.status).toBe(200);
      const { id } = await app.sessions.create({ user: "an" });
      await app.sessions.send(id, "Hi");
      expect((await ended(app, id)).status).toBe("end_turn");
    });

    test("the server's own code decides and stops", async () => {
      const { app, lines } = await open({ printsSteps: true });
      await app.worker();
      const { id } = await app.sessions.create({ user: "an", title: "Orders" });
      await app.sessions.send(id, { text: "Buy", userId: "an", options: { agent: "market" } });
      const asked = async () => {
        const { store } = await app.parts();
        return (await store.interactions.list({ tenant: "default", session: id }, { pending: true }))[0]?.key;
      };
      await expect.poll(asked, { interval: 20 }).toBeDefined();
      const key = (await asked()) ?? "";
      expect(await app.sessions.decide(id, { key, decision: "approve", userId: "an" })).toMatchObject({
        applied: true,
      });
      expect((await ended(app, id)).status).toBe("end_turn");
      expect(lines.filter((line) => line.endsWith(" market waits for approval of buy {}"))).toHaveLength(1);
      expect(lines.filter((line) => / market step 1: buy, approved, \d+\.\d s$/.test(line))).toHaveLength(1);
      // The log has the end of a turn a moment before the store.
      await expect.poll(() => app.sessions.stop(id)).toBeNull();
    });

    test("prints the provider's own message when a model fails", async () => {
      const { app, lines } = await open();
      await app.worker();
      const { id } = await app.sessions.create({ user: "an" });
      await app.sessions.send(id, { text: "Hi", options: { agent: "failing" } });
      expect((await ended(app, id)).status).toBe("error");
      await expect.poll(() => lines.join("\n")).toContain("The key is missing. Set MODEL_KEY.");
      expect(lines.filter((line) => line.includes("failing failed"))).toHaveLength(1);
    });

    test("replaces agents while a turn runs, and sessions stay", async () => {
      const signal = new EventEmitter();
      const released = once(signal, "release").then(() => "done");
      const slow = defineAgent({
        name: "helper",
        title: false,
        tools: { wait: tool({ run: () => released }) },
        model: scriptedModel(({ step }) =>
          step === 0 ? [script.toolCall("wait")] : [script.text("From the earlier agent.")],
        ),
      });
      const { app, lines } = await open({ agents: [slow], printsSteps: true });
      await app.worker();
      const [running, other] = [
        await app.sessions.create({ user: "an" }),
        await app.sessions.create({ user: "an" }),
      ];
      await app.sessions.send(running.id, "Hi");
      await expect
        .poll(async () => (await app.sessions.read(running.id)).state.turns.length, { interval: 20 })
        .toBe(1);
      await expect(app.replaceAgents([])).rejects.toThrow("at least one agent");
      await app.replaceAgents(AGENTS);
      await app.sessions.send(other.id, "Hi");
      expect(JSON.stringify(await ended(app, other.id))).toContain("Hello An.");
      signal.emit("release");
      expect(JSON.stringify(await ended(app, running.id))).toContain("From the earlier agent.");
      await app.sessions.send(running.id, "Hi again");
      await expect.poll(async () => (await app.sessions.read(running.id)).state.turns.length).toBe(2);
      expect(JSON.stringify(await ended(app, running.id))).toContain("Hello An.");
      expect(lines.join("\n")).toMatch(/ helper step 1: wait, \d+\.\d s\n/);
    });

    test("a process without a worker stores messages for the others", async () => {
      const { app } = await open({ runsTurns: false });
      await app.listen(0);
      const { id } = await app.sessions.create({ user: "an" });
      await app.sessions.send(id, "Hi");
      expect((await app.sessions.read(id)).state.turns.length).toBe(0);
      await app.worker();
      expect((await ended(app, id)).status).toBe("end_turn");
    });
  });
}
