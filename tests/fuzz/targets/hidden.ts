/**
 * `hidden` runs generated turns with hidden tools, thinking in chat mode and text for the model, and looks for that
 * text in everything that a user without the scope `debug` can receive.
 * Invariant: the canary is only where users must not see it, so that every occurrence on a wire is a leak.
 */
import { randomUUID } from "node:crypto";
import { createServer, defineAgent, startWorker, tool, ToolError } from "@turnstream/server";
import {
  createMemoryLog,
  createMemorySignals,
  createMemoryStore,
  script,
  scriptedModel,
  type ScriptPart,
} from "@turnstream/testing";
import fc from "fast-check";
import { WebSocket } from "ws";
import { z } from "zod";
import { generate, type Target } from "../target.ts";

const CANARY = "canary8c1d";
const TIMEOUT_MS = 20_000;
/** A long text becomes a blob, and a short one stays in the event. */
const LENGTHS = [1, 300, 9_000, 90_000];

const step = fc.record({
  tool: fc.constantFrom("hiddenCall", "hiddenResult", "forModel", "fails", "throws", "text"),
  thinks: fc.boolean(),
  length: fc.constantFrom(...LENGTHS),
});
const someTurn = fc.array(step, { minLength: 1, maxLength: 4 });
type Steps = readonly { readonly tool: string; readonly thinks: boolean; readonly length: number }[];

function secret(length: number): string {
  return `${CANARY} ${"x".repeat(length)}`;
}

function partsOf(steps: Steps, n: number): readonly ScriptPart[] {
  const current = steps[n];
  if (current === undefined) return [script.text("The answer.")];
  const thought = current.thinks ? [script.reasoning(secret(current.length))] : [];
  if (current.tool === "text") return [...thought, script.text("Some text.")];
  // The arguments of a visible call are visible.
  const { length } = current;
  const args = current.tool === "hiddenCall" ? { text: secret(length) } : { length };
  return [...thought, script.toolCall(current.tool, args)];
}

const input = z.object({ length: z.number() });
const TOOLS = {
  hiddenCall: tool({
    input: z.object({ text: z.string() }),
    display: { call: false },
    run: ({ text }) => text,
  }),
  hiddenResult: tool({ input, display: { result: false }, run: ({ length }) => secret(length) }),
  forModel: tool({ input, run: ({ length }) => ({ content: secret(length), preview: "For users." }) }),
  fails: tool({
    input,
    run: ({ length }) => {
      throw new ToolError("It failed.", { modelMessage: secret(length) });
    },
  }),
  throws: tool({
    input,
    run: ({ length }) => {
      throw new Error(secret(length));
    },
  }),
};

const DIALECTS = ["native", "blocks", "tasks"] as const;

export const hidden: Target = {
  name: "hidden",
  about: "hidden text on every wire, for a user without the scope debug",
  async open() {
    const backend = { store: createMemoryStore(), log: createMemoryLog(), signals: createMemorySignals() };
    const { store } = backend;
    await store.tenants.create({ id: "acme", name: "Acme" });
    const { secret: key } = await store.keys.create("acme", { name: "test", scopes: [] });
    let steps: Steps = [];
    const agent = defineAgent({
      name: "a",
      model: scriptedModel((call) => partsOf(steps, call.step)),
      tools: TOOLS,
    });
    const worker = await startWorker({
      ...backend,
      agents: [agent],
      onError: () => {},
    });
    const server = createServer({ ...backend, secrets: ["s".repeat(32)] });
    const url = `${await server.listen()}/api/v1`;
    const post = async (path: string, headers: Record<string, string>, body: object) => {
      const response = await fetch(`${url}${path}`, {
        method: "POST",
        headers: { ...headers, "content-type": "application/json" },
        body: JSON.stringify(body),
        signal: AbortSignal.timeout(TIMEOUT_MS),
      });
      return { text: await response.clone().text(), json: (await response.json()) as Record<string, string> };
    };
    const minted = await post("/tokens", { "x-api-key": key }, { user_id: "an" });
    const auth = { authorization: `Bearer ${minted.json["token"]}` };
    const get = async (path: string): Promise<string> => {
      const response = await fetch(`${url}${path}`, {
        headers: auth,
        signal: AbortSignal.timeout(TIMEOUT_MS),
      });
      return response.text();
    };
    return {
      async runCase(seed) {
        steps = generate(someTurn, seed);
        const seen: [what: string, text: string][] = [];
        const sockets: WebSocket[] = [];
        try {
          const { json } = await post("/sessions", auth, {});
          const session = json["session_id"] ?? "";
          for (const dialect of DIALECTS) {
            const socket = new WebSocket(`${url.replace("http", "ws")}/socket?dialect=${dialect}`, {
              headers: auth,
            });
            sockets.push(socket);
            socket.on("message", (data: Buffer) => seen.push([`socket ${dialect}`, data.toString()]));
            await new Promise((resolve) => void socket.once("open", resolve));
            socket.send(JSON.stringify({ type: "subscribe", session_id: session }));
          }
          const message = { text: "Go.", display_mode: "chat", client_message_id: randomUUID() };
          const answer = await post(`/sessions/${session}/messages`, auth, message);
          seen.push(["answer", answer.text]);
          for (const path of ["history", "snapshot", "turns", "interactions"])
            seen.push([path, await get(`/sessions/${session}/${path}`)]);
          const { json: share } = await post(`/sessions/${session}/shares`, auth, {});
          seen.push(["share", await get(`/shares/${share["token"]}`)]);
          const streams = [...DIALECTS, "responses"].map(async (dialect) => {
            const text = await readStart(`${url}/sessions/${session}/events?dialect=${dialect}`, auth);
            seen.push([`stream ${dialect}`, text]);
          });
          await Promise.all(streams);
        } catch (error) {
          return { usedMs: 0, crash: String(error) };
        } finally {
          for (const socket of sockets) socket.terminate();
        }
        const leak = seen.find(([, text]) => text.includes(CANARY));
        if (leak === undefined) return { usedMs: 0 };
        const [what, text] = leak;
        const at = text.indexOf(CANARY);
        return { usedMs: 0, canary: `${what}: ${text.slice(Math.max(0, at - 150), at + 20)}` };
      },
      close: async () => {
        await worker.shutdown();
        await server.close();
      },
    };
  },
};

/** An event stream stays open, so only what arrives within a short time is read. */
async function readStart(address: string, headers: Readonly<Record<string, string>>): Promise<string> {
  const separator = address.includes("?") ? "&" : "?";
  const left = AbortSignal.timeout(300);
  let text = "";
  try {
    const response = await fetch(`${address}${separator}last_event_id=0-0`, { headers, signal: left });
    const decoder = new TextDecoder();
    for await (const chunk of response.body ?? [])
      text += decoder.decode(chunk as Uint8Array, { stream: true });
  } catch {
    // The time is over.
  }
  return text;
}
