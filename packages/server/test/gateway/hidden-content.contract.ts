/**
 * The contract of hidden content over WebSocket, event streams and HTTP: hidden calls and results, thinking in chat
 * mode and text for the model reach only API keys with the scope `debug`.
 */
import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import { WebSocket } from "ws";
import { signToken } from "../../src/gateway/auth/tokens.ts";
import { DIALECTS } from "../../src/gateway/encoding/stream-format.ts";
import { script } from "../../src/models/script-parts.ts";
import { scriptedModel } from "../../src/models/scripted-model.ts";
import { defineAgent } from "../../src/agent/define/agent.ts";
import { tool, ToolError } from "../../src/agent/define/tool.ts";
import type { SessionRef } from "../../src/util/refs.ts";
import { systemEnv } from "../../src/util/env.ts";
import { createActivityLog } from "../../src/turnstream/activity-log.ts";
import type { HarnessBackend } from "../engine/turn-harness.ts";
import { type Receiver, startReceiver } from "../session/webhooks/receiver.ts";
import { ALL_ROUTES, ALL_SCOPES } from "./all-routes.ts";
import { StreamClient } from "./clients.ts";
import { GatewayHarness } from "./gateway-harness.ts";

/** In the log, but shown to no user. */
const IN_LOG = { args: "canary-args", result: "canary-result", thought: "canary-thought" };
/** Only in the content that the model reads. */
const FOR_MODEL = {
  half: "canary-half",
  error: "canary-error postgres://admin:pw@10.0.0.5/crm",
  toolError: "canary-tool-error",
  content: "canary-content",
};
const LONG = "x".repeat(5_000);

const guide = defineAgent({
  name: "guide",
  title: false,
  tools: {
    credit_check: tool({
      label: "canary-label",
      display: { call: false },
      run: (_, context) => {
        context.progress(IN_LOG.result);
        context.image({ data: new TextEncoder().encode(IN_LOG.result), mediaType: "image/png" });
        return { content: `${IN_LOG.result} ${LONG}` };
      },
    }),
    half: tool({ label: "Half", display: { result: false }, run: () => FOR_MODEL.half }),
    crash: tool({
      label: "Crash",
      run: () => {
        throw new Error(FOR_MODEL.error);
      },
    }),
    polite: tool({
      label: "Polite",
      run: () => {
        throw new ToolError("It did not work.", { modelMessage: FOR_MODEL.toolError });
      },
    }),
    two_sides: tool({
      label: "Two sides",
      run: () => ({ content: `${FOR_MODEL.content} ${LONG}`, preview: "for users" }),
    }),
    cited: tool({
      label: "Cited",
      run: () => ({
        content: "",
        references: [
          { content: `${FOR_MODEL.content} ${LONG}`, blocks: [{ type: "text", text: "for users" }] },
        ],
      }),
    }),
  },
  model: scriptedModel(({ text, step }) => {
    if (step > 0 || text === "hello") return [script.text("All done.")];
    const thought = script.reasoning(text === "chat" ? IN_LOG.thought : "visible thought", { chunk: 100 });
    if (text === "chat") return [thought, script.text("Hi.")];
    if (text === "check") return [thought, script.toolCall("credit_check", { note: IN_LOG.args })];
    return [thought, script.toolCall(text)];
  }),
});
const MESSAGES = ["check", "half", "crash", "polite", "two_sides", "cited"];
/** The name of the hidden tool is hidden too, and so are the URLs of blobs: all blobs here have hidden content. */
const SECRETS = ["canary", btoa(IN_LOG.result), "credit_check", "10.0.0.5", "/blobs/"];

/** What follows the session in the path of each route that reads it as JSON, also those of features. */
const SESSION_PATHS = ALL_ROUTES.flatMap(({ method, path, opensStream = false }) => {
  const [, rest] = /^\/sessions\/\{session\}([^{}]*)$/.exec(path) ?? [];
  return method === "GET" && !opensStream && rest !== undefined ? [rest] : [];
});

function findSecrets(text: string): string[] {
  return SECRETS.filter((secret) => text.includes(secret));
}

/** Everything that one connection receives, as text. */
class Recorder {
  text = "";
  readonly socket: WebSocket;

  constructor(url: string, dialect: string, headers: Readonly<Record<string, string>>) {
    const address = `${url.replace("http", "ws")}/api/v1/socket?dialect=${dialect}`;
    this.socket = new WebSocket(address, { headers: { ...headers } });
    this.socket.on("message", (data: Buffer) => (this.text += `${data.toString()}\n`));
  }

  async open(): Promise<this> {
    await vi.waitUntil(() => this.socket.readyState === WebSocket.OPEN, { timeout: 60_000 });
    return this;
  }

  subscribe(session: string, after?: string): void {
    const cursor = after === undefined ? {} : { last_event_id: after };
    this.socket.send(JSON.stringify({ type: "subscribe", session_id: session, ...cursor }));
  }

  /** Subscribes again, and waits until the end of the log has arrived. */
  async resume(session: string, after: string, end: string): Promise<void> {
    const from = this.text.length;
    this.socket.send(JSON.stringify({ type: "unsubscribe", session_id: session }));
    this.subscribe(session, after);
    await vi.waitUntil(() => after === end || this.text.slice(from).includes(`"${end}"`), {
      timeout: 60_000,
      interval: 2,
    });
  }
}

/** The type of the last frame of a turn. */
const TURN_ENDS: Readonly<Record<string, string>> = {
  native: "turn.end",
  blocks: "message_stop",
  tasks: "task.done",
};

export function hiddenContentContract(
  name: string,
  makeParts: () => Promise<HarnessBackend>,
  cursorStep: number,
): void {
  describe(`W18 hidden content on ${name}`, () => {
    let harness: GatewayHarness;
    let receiver: Receiver;
    let ref: SessionRef;
    let turns: string[];
    const lines: string[] = [];
    const liveTexts = new Map<string, string>();
    /** Headers of callers without the scope, by name. */
    const users = new Map<string, Readonly<Record<string, string>>>();
    let fork: string;
    let shareToken: string;

    beforeAll(async () => {
      harness = await GatewayHarness.open(await makeParts());
      receiver = await startReceiver();
      const { stage, server } = harness;
      const { tenant, user } = stage.actor;
      const { onEvent } = createActivityLog({
        print: (line) => lines.push(line),
        secret: "s".repeat(32),
        now: () => new Date(0),
        hasSteps: true,
        hasStacks: true,
      });
      await stage.worker([guide], { webhooks: { allow: [receiver.place] }, onEvent });
      const { secret } = await stage.backend.store.webhooks.create(tenant, { url: `${receiver.origin}/h` });
      receiver.secret = secret;
      const scopes = ALL_SCOPES.filter((scope) => scope !== "debug");
      const { secret: key } = await stage.backend.store.keys.create(tenant, { name: "no debug", scopes });
      const { token } = await harness.json("POST", "/tokens", { user_id: user });
      const claims = { tenant, user, key: server.key.id, scopes: ["read", "write", "share", "debug"] };
      const now = systemEnv.now();
      const signed = await signToken({ ...claims, expiresAt: now + 600_000 }, server.secrets[0], now);
      users.set("token", { authorization: `Bearer ${token}` });
      users.set("token signed with debug", { authorization: `Bearer ${signed}` });
      users.set("key without debug", { "x-api-key": key, "x-user-id": user });
      ref = await stage.session();
      await recordTurns();
      const share = await harness.json("POST", `/sessions/${ref.session}/shares`, {});
      shareToken = share.token;
      const headers = users.get("key without debug") ?? {};
      const forked = await harness.request("POST", `/shares/${share.token}/fork`, { headers, body: {} });
      fork = forked.json.session_id;
    }, 120_000);
    afterAll(async () => {
      await harness.close();
      await receiver[Symbol.asyncDispose]();
    });

    /** Runs the turns while users and a debugger watch them live. */
    async function recordTurns(): Promise<void> {
      const { stage, server } = harness;
      const recorders: [string, { readonly text: string }, () => void][] = [];
      for (const [who, headers] of [...users, ["debug", server.auth] as const]) {
        for (const dialect of ["native", "blocks", "tasks"]) {
          const recorder = await new Recorder(server.url, dialect, headers).open();
          recorder.subscribe(ref.session);
          recorders.push([`${who}, socket ${dialect}`, recorder, () => recorder.socket.terminate()]);
        }
        for (const dialect of DIALECTS.filter((one) => one !== "responses")) {
          const url = `${server.url}/api/v1/sessions/${ref.session}/events?dialect=${dialect}`;
          const stream = await StreamClient.open(url, { headers: { ...headers } });
          recorders.push([`${who}, event stream ${dialect}`, stream, () => stream.disconnect()]);
        }
      }
      for (const text of MESSAGES) await stage.ask(ref, text);
      await stage.ask(ref, "chat", { mode: "chat" });
      const [who, headers] = [...users][0] ?? [];
      for (const stream of [true, false]) {
        const body = { text: "check", stream };
        const posted = await server.request("POST", `/sessions/${ref.session}/messages`, {
          body,
          ...(headers === undefined ? {} : { headers }),
        });
        expect(posted.text).toContain("All done.");
        liveTexts.set(`${who}, posted message ${stream}`, posted.text);
      }
      const end = (await stage.state(ref)).seq;
      await vi.waitUntil(
        () =>
          recorders.every(
            ([what, { text }]) => !what.includes("native") || new RegExp(`"\\d+-${end}"`).test(text),
          ),
        { timeout: 60_000 },
      );
      for (const [what, recorder] of recorders) {
        const ending = `"type":"${TURN_ENDS[what.split(" ").at(-1) ?? ""]}"`;
        const count = (await stage.state(ref)).turns.length;
        await vi.waitUntil(() => recorder.text.split(ending).length > count, { timeout: 60_000 });
      }
      for (const [what, { text }, close] of recorders) {
        liveTexts.set(what, text);
        close();
      }
      turns = (await stage.state(ref)).turns.toArray().map(({ id }) => id);
    }

    it("users receive none of it live, and a caller with the scope receives what is in the log", () => {
      const leaks = [...liveTexts]
        .filter(([what]) => !what.startsWith("debug"))
        .map(([what, text]) => [what, findSecrets(text)]);
      expect(leaks.filter(([, found]) => found?.length !== 0)).toEqual([]);
      expect(leaks.length).toBe(3 * 6 + 2);
      for (const what of ["debug, socket native", "debug, event stream native"])
        for (const secret of Object.values(IN_LOG)) expect(liveTexts.get(what)).toContain(secret);
      // What users do see.
      for (const [what, text] of liveTexts)
        if (/native|blocks/.test(what)) {
          expect(text, what).toContain("visible thought");
          expect(text, what).toContain("It did not work.");
        }
    });

    it("users receive none of it after a reconnect from any cursor, in any dialect", async () => {
      const { server, stage } = harness;
      const cursors = (await stage.events(ref)).map(({ id }) => id);
      const end = cursors.at(-1) ?? "";
      const headers = users.get("token") ?? {};
      const native = await new Recorder(server.url, "native", headers).open();
      for (let n = 0; n < cursors.length; n += cursorStep)
        await native.resume(ref.session, cursors[n] ?? "0-0", end);
      await native.resume(ref.session, "0-0", end);
      native.socket.terminate();
      expect(findSecrets(native.text)).toEqual([]);
      const others: string[] = [];
      for (const dialect of DIALECTS)
        for (const after of ["0-0", "9-99999", cursors[cursors.length >> 1]]) {
          const url = `${server.url}/api/v1/sessions/${ref.session}/events?dialect=${dialect}&last_event_id=${after}`;
          const stream = await StreamClient.open(url, { headers: { ...headers } });
          const ending =
            dialect === "responses"
              ? /DONE/
              : new RegExp(`"${turns.at(-1)}".*${TURN_ENDS[dialect]}|snapshot`, "s");
          await vi.waitUntil(() => ending.test(stream.text), { timeout: 60_000 });
          stream.disconnect();
          others.push(stream.text);
        }
      expect(findSecrets(others.join("\n"))).toEqual([]);
    });

    it("a page whose ticket was requested with an API key receives none of it", async () => {
      const { ticket } = await harness.json("POST", "/tickets", {});
      const url = `${harness.server.url}/api/v1/sessions/${ref.session}/events?dialect=native&last_event_id=0-0&ticket=${encodeURIComponent(ticket)}`;
      const stream = await StreamClient.open(url, {});
      const end = (await harness.stage.state(ref)).seq;
      await vi.waitUntil(() => new RegExp(`"\\d+-${end}"`).test(stream.text), { timeout: 60_000 });
      stream.disconnect();
      expect(findSecrets(stream.text)).toEqual([]);
    });

    it("users find none of it over HTTP, also in a fork, and no link shows it", async () => {
      const found: [string, string[]][] = [];
      for (const [who, headers] of users)
        for (const session of [ref.session, fork])
          for (const path of [
            "/history?limit=50",
            "/snapshot?turns=50",
            "/turns?limit=50",
            ...turns.map((turn) => `/turns/${turn}`),
            ...SESSION_PATHS,
          ]) {
            const { status, text } = await harness.request("GET", `/sessions/${session}${path}`, { headers });
            expect([status, who, path]).toEqual([200, who, path]);
            found.push([`${who} ${path}`, findSecrets(text)]);
          }
      for (const query of ["", "?dialect=blocks"]) {
        const { text } = await harness.request("GET", `/shares/${shareToken}${query}`, { headers: {} });
        expect(text).toContain("All done.");
        found.push([`share ${query}`, findSecrets(text)]);
      }
      expect(found.filter(([, secrets]) => secrets.length > 0)).toEqual([]);
    });

    it("the end state needs the scope, which no token can have", async () => {
      const paths = turns.map((turn) => `/sessions/${ref.session}/turns/${turn}/end-state`);
      for (const headers of users.values())
        for (const path of paths) expect((await harness.request("GET", path, { headers })).status).toBe(403);
      const texts = await Promise.all(paths.map(async (path) => (await harness.request("GET", path)).text));
      for (const secret of Object.values(FOR_MODEL)) expect(texts.join()).toContain(secret);
      const asked = { user_id: "an", scopes: ["read", "debug"] };
      expect(await harness.requestError("POST", "/tokens", asked)).toBe("400 BAD_REQUEST");
    });

    it("a key with the scope sees the content of the log over HTTP", async () => {
      const { tenant, user } = harness.stage.actor;
      const few = { name: "debugger", scopes: ["read", "debug"] };
      const { secret } = await harness.stage.backend.store.keys.create(tenant, few);
      for (const headers of [harness.server.auth, { "x-api-key": secret, "x-user-id": user }])
        for (const path of ["/snapshot?turns=50", "/turns?limit=50"]) {
          const { text } = await harness.request("GET", `/sessions/${ref.session}${path}`, { headers });
          for (const inLog of [...Object.values(IN_LOG), "credit_check", "/blobs/"])
            expect(text).toContain(inLog);
        }
    });

    it("neither webhooks, nor lines about turns, nor reports of the gateway contain it", async () => {
      await vi.waitUntil(() => receiver.received.length >= turns.length, { timeout: 60_000 });
      expect(findSecrets(receiver.received.map(({ text }) => text).join())).toEqual([]);
      expect(lines.length).toBeGreaterThan(turns.length);
      expect(findSecrets(lines.join("\n"))).toEqual([]);
      expect(harness.server.errors).toEqual([]);
    });
  });
}
