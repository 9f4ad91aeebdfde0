/** Tests WebSockets over real connections: commands and replies, invalid commands, limits, and disconnects. */
import { afterEach, describe, expect, test, vi } from "vitest";
import { script } from "../../../src/models/script-parts.ts";
import { scriptedModel } from "../../../src/models/scripted-model.ts";
import { defineAgent } from "../../../src/agent/define/agent.ts";
import { tool } from "../../../src/agent/define/tool.ts";
import { TurnHarness } from "../../engine/turn-harness.ts";
import { SocketClient } from "../clients.ts";
import { createMemoryBackend, openServer, type TestServer } from "../test-server.ts";

let stage: TurnHarness;
let server: TestServer;
const clients: SocketClient[] = [];

const agent = defineAgent({
  name: "a",
  model: scriptedModel(({ text, step }) => {
    if (text === "slow") return [script.text("be"), script.delay(60_000), script.text("gin")];
    if (text === "book" && step === 0) return [script.toolCall("book", { beds: 2 })];
    // In one chunk: on a slow machine, several chunks would not be merged into one frame, which the tests expect.
    return [script.text(`You wrote ${text}.`, { chunk: 1_000 })];
  }),
  tools: { book: tool({ approval: true, run: () => "booked" }) },
});

async function open(options: Parameters<typeof openServer>[1] = {}): Promise<void> {
  stage = await TurnHarness.open(createMemoryBackend());
  // A busy machine must not make the only worker lose its lease.
  await stage.worker([agent], { leaseTtlMs: 20_000 });
  server = await openServer(stage.backend, { actor: stage.actor, ...options });
}

async function connect(dialect = "blocks", at?: string): Promise<SocketClient> {
  const client = await SocketClient.open(server, { dialect, ...(at === undefined ? {} : { at }) });
  clients.push(client);
  return client;
}

afterEach(async () => {
  for (const client of clients.splice(0)) client.close();
  await server.close();
  await stage.close();
});

describe("commands over a socket", () => {
  test("are executed within the scopes of the key", async () => {
    await open();
    const { tenant } = stage.actor;
    const { secret } = await stage.backend.store.keys.create(tenant, { name: "reads", scopes: ["read"] });
    const client = await SocketClient.open({
      url: server.url,
      auth: { ...server.auth, "x-api-key": secret },
    });
    clients.push(client);
    const { session: session_id } = await stage.session();
    expect(await client.request({ type: "subscribe", session_id })).toMatchObject({ type: "subscribed" });
    const refused = [
      { type: "send", client_message_id: "m1", text: "hello" },
      { type: "stop" },
      { type: "decide", approval_key: "k", decision: "approve" },
      { type: "answer", approval_key: "k", answers: [{ question: "meal", selected: ["dinner"] }] },
      { type: "dismiss", approval_key: "k" },
      { type: "submit", form_request_id: "f", values: {} },
      { type: "decline", form_request_id: "f" },
      { type: "cancel_payment", payment_request_id: "p" },
    ];
    for (const command of refused)
      expect(await client.request({ ...command, session_id }), command.type).toMatchObject({
        type: "error",
        error: "FORBIDDEN",
      });
    expect(await client.request({ type: "unsubscribe", session_id })).toMatchObject({ type: "ack" });
    expect((await stage.state({ tenant, session: session_id })).turns.length).toBe(0);
  });

  test("a ping is answered with any scope and belongs to no session", async () => {
    await open();
    const { secret } = await stage.backend.store.keys.create(stage.actor.tenant, {
      name: "socket",
      scopes: ["read"],
    });
    const client = await SocketClient.open({
      url: server.url,
      auth: { ...server.auth, "x-api-key": secret },
    });
    clients.push(client);
    expect(await client.request({ type: "ping" })).toEqual({ type: "ack", request_id: "r1" });
    expect(await client.request({ type: "ping", session_id: "s" })).toMatchObject({ error: "BAD_REQUEST" });
  });

  test("a native client that reconnects receives the current head", async () => {
    await open();
    const ref = await stage.session();
    await stage.ask(ref, "one");
    const events = await stage.events(ref);
    const client = await connect("native");
    const last_event_id = events[3]?.id;
    const reply = await client.request({ type: "subscribe", session_id: ref.session, last_event_id });
    const head = events.at(-1)?.id;
    expect(reply).toMatchObject({ resumed: true, reason: "cursor", head });
    await client.until("the head", ({ id }) => id === head);
  });

  test.for(["blocks", "native", "tasks"])("W16: send, subscribe and a whole turn in %s", async (dialect) => {
    await open();
    const client = await connect(dialect);
    const ref = await stage.session();
    const { session } = ref;
    expect(await client.request({ type: "subscribe", session_id: session })).toEqual({
      type: "subscribed",
      request_id: "r1",
      session_id: session,
      resumed: false,
      reason: "fresh",
      ...(dialect === "native" ? { head: (await stage.events(ref)).at(-1)?.id } : {}),
    });
    const send = { type: "send", session_id: session, client_message_id: "m1", text: "hello" };
    const ack = await client.request(send);
    expect(ack).toMatchObject({ type: "ack", user_message_id: expect.any(String) as string });
    const end = { blocks: "message_stop", native: "turn.end", tasks: "task.done" }[dialect];
    const last = await client.until("the end", ({ type }) => type === end);
    expect(last["session_id"]).toBe(session);
    expect(JSON.stringify(client.frames)).toContain("You wrote hello.");
    expect(client.frames.filter((frame) => !("session_id" in frame))).toEqual([ack]);
    expect(await client.request(send), "the same message again is the same message").toEqual({
      ...ack,
      request_id: "r3",
    });
    expect((await stage.state({ tenant: stage.actor.tenant, session })).turns.length).toBe(1);
  });

  test("are executed in order for a session, by id or by number", async () => {
    await open();
    const client = await connect();
    const ref = await stage.session();
    const { sessions } = stage.backend.store;
    const number = String((await sessions.find(ref))?.number);
    const byNumber = sessions.byNumber.bind(sessions);
    let isAnswered = false;
    vi.spyOn(sessions, "byNumber").mockImplementation(async (...asked) => {
      await vi.waitUntil(() => isAnswered, { timeout: 60_000, interval: 5 });
      return byNumber(...asked);
    });
    const stop = (session_id: string) => client.request({ type: "stop", session_id });
    const both = Promise.all([stop(number), stop(ref.session)]);
    // A ping belongs to no session, so it waits for none. A command that overtakes has done so by then.
    expect(await client.request({ type: "ping" })).toMatchObject({ type: "ack" });
    expect(await client.request({ type: "ping" })).toMatchObject({ type: "ack" });
    const replies = () => client.frames.filter((frame) => "receipt" in frame);
    expect(replies()).toEqual([]);
    isAnswered = true;
    const expected = await both;
    expect(replies()).toEqual(expected);
  });

  test("W16: stop and decide work from another socket than the one that watches", async () => {
    await open();
    const [watcher, other] = [await connect(), await connect("native")];
    const ref = await stage.session();
    const session_id = ref.session;
    await watcher.request({ type: "subscribe", session_id });
    await other.request({ type: "send", session_id, client_message_id: "m1", text: "slow" });
    const { message_id } = await watcher.until("started", ({ type }) => type === "message_start");
    const receipt = "stopping";
    expect(await other.request({ type: "stop", session_id })).toMatchObject({
      type: "ack",
      turn_id: message_id,
      receipt,
    });
    const stopped = await watcher.until("stopped", ({ type }) => type === "message_delta");
    expect(stopped).toMatchObject({ delta: { stop_reason: "user_stopped" } });
    await other.request({ type: "send", session_id, client_message_id: "m2", text: "book" });
    const asked = await watcher.until(
      "asked",
      ({ content_block }) => content_block?.approval_key !== undefined,
    );
    const { approval_key } = asked["content_block"] as { approval_key: string };
    const decide = { type: "decide", session_id, approval_key, decision: "approve" };
    expect(await other.request(decide)).toMatchObject({ type: "ack" });
    expect(await watcher.request(decide)).toMatchObject({
      type: "error",
      error: "INTERACTION_CLOSED",
      code: 13001,
    });
    await watcher.until("the answer", (frame) => JSON.stringify(frame).includes("You wrote book."));
  });

  test("after unsubscribe no frames arrive, and subscribe resumes after a cursor", async () => {
    await open();
    const client = await connect();
    const { session: session_id } = await stage.session();
    await client.request({ type: "subscribe", session_id });
    await client.request({ type: "send", session_id, client_message_id: "m1", text: "one" });
    await client.until("the end", ({ type }) => type === "message_stop");
    const cursor = client.frames.findLast((frame) => "event_id" in frame)?.["event_id"] as string;
    expect(await client.request({ type: "unsubscribe", session_id })).toEqual({
      type: "ack",
      request_id: "r3",
    });
    const before = client.frames.length;
    await client.request({ type: "send", session_id, client_message_id: "m2", text: "two" });
    await stage.ended({ tenant: stage.actor.tenant, session: session_id }, ({ number }) => number === 2);
    expect(client.frames.slice(before).map(({ type }) => type as string)).toEqual(["ack"]);
    expect(await client.request({ type: "subscribe", session_id, last_event_id: cursor })).toMatchObject({
      resumed: true,
      reason: "cursor",
    });
    await client.until("the second answer", (frame) => JSON.stringify(frame).includes("You wrote two."));
    expect(client.frames.filter((frame) => JSON.stringify(frame).includes("You wrote one.")).length).toBe(1);
  });

  test("a session can be named by its number, and another user's session is not found", async () => {
    await open();
    const client = await connect();
    const ref = await stage.session();
    const { number = 0 } = (await stage.backend.store.sessions.find(ref)) ?? {};
    expect(await client.request({ type: "subscribe", session_id: String(number) })).toMatchObject({
      type: "subscribed",
      session_id: ref.session,
    });
    const theirs = await stage.as({ tenant: stage.actor.tenant, user: "other" }).session();
    for (const command of [
      { type: "subscribe" },
      { type: "send", client_message_id: "m", text: "hi" },
      { type: "stop" },
      { type: "decide", approval_key: "k", decision: "approve" },
    ]) {
      const reply = await client.request({ ...command, session_id: theirs.session });
      expect(reply).toMatchObject({ type: "error", error: "NOT_FOUND", code: 10009 });
    }
  });

  test("a deleted session ends its subscription once", async () => {
    await open();
    const client = await connect();
    const { session: session_id } = await stage.session();
    await client.request({ type: "subscribe", session_id });
    await server.request("DELETE", `/sessions/${session_id}`);
    const notice = await client.until("the end", ({ type }) => type === "unsubscribed");
    expect(notice).toEqual({ type: "unsubscribed", session_id, reason: "gone" });
  });

  test("a socket has a limited number of sessions", async () => {
    await open({ limits: { maxSubscriptionsPerSocket: 2 } });
    const client = await connect();
    const ids = [await stage.session(), await stage.session(), await stage.session()].map(
      (ref) => ref.session,
    );
    for (const session_id of [ids[0], ids[1], ids[1]])
      expect(await client.request({ type: "subscribe", session_id })).toMatchObject({ type: "subscribed" });
    expect(await client.request({ type: "subscribe", session_id: ids[2] })).toMatchObject({
      type: "error",
      error: "RATE_LIMITED",
    });
    await client.request({ type: "unsubscribe", session_id: ids[0] });
    expect(await client.request({ type: "subscribe", session_id: ids[2] })).toMatchObject({
      type: "subscribed",
    });
  });
});

describe("invalid command", () => {
  test("is refused with its request id, and the socket stays open", async () => {
    await open();
    const client = await connect();
    const { session } = await stage.session();
    for (const [text, request_id] of [
      ["not json", undefined],
      ["[]", undefined],
      ['{"type":"fly","request_id":"x1"}', "x1"],
      [`{"type":"stop","session_id":"${session}","more":1,"request_id":"x2"}`, "x2"],
      ['{"type":"stop","session_id":"s","__proto__":{},"request_id":"x3"}', "x3"],
      [`{"type":"submit","request_id":"x4","values":${"[".repeat(50_000)}${"]".repeat(50_000)}}`, undefined],
    ] as const) {
      const before = client.frames.length;
      client.socket.send(text);
      const reply = await client.until("refusal", ({ type }) => type === "error", before);
      expect(reply).toMatchObject({ error: "BAD_REQUEST", code: 10006, can_retry: false });
      expect(reply["request_id"]).toBe(request_id);
    }
    expect(client.end).toBeNull();
  });

  test.for([
    { what: "binary", frames: [Buffer.from([1, 2])], code: 1003 },
    { what: "too large", frames: [`"${"x".repeat(3_000)}"`], code: 1009 },
    { what: "repeated too often", frames: Array.from({ length: 21 }, () => "no"), code: 4400 },
  ])("closes the socket when it is $what", async ({ frames, code }) => {
    await open({ limits: { maxBodyBytes: 2_000 } });
    const client = await connect();
    for (const frame of frames) client.socket.send(frame);
    expect(await client.closed()).toMatchObject({ code });
  });

  test("a flood of commands is refused, then closed, and others are not affected", async () => {
    await open();
    const [flooding, other] = [await connect(), await connect()];
    const { session: session_id } = await stage.session();
    // Far more than the limit: on a busy machine, a heartbeat resets the count in between.
    for (let n = 0; n < 1_000; n++)
      flooding.socket.send(JSON.stringify({ type: "stop", session_id, request_id: `s${n}` }));
    expect(await flooding.closed()).toMatchObject({ code: 4429 });
    const limited = flooding.frames.filter(({ error }) => error === "RATE_LIMITED");
    expect(limited.length).toBeGreaterThan(50);
    expect(limited[0]).toMatchObject({ code: 10011, can_retry: true, retry_after_seconds: 1 });
    expect(await other.request({ type: "subscribe", session_id })).toMatchObject({ type: "subscribed" });
  });
});

test("a server that shuts down closes its sockets with 1012", async () => {
  await open();
  const client = await connect();
  await server.server.close();
  expect(await client.closed()).toMatchObject({ code: 1012 });
});
