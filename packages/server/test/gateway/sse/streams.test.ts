/**
 * Tests event streams over real connections: posted messages of the `responses` dialect, following a session, and how
 * streams start and end.
 */
import { isStandalone } from "../mount.ts";
import { once } from "node:events";
import { connect } from "node:net";
import { Server } from "node:http";
import { afterEach, describe, expect, test, vi } from "vitest";
import { responsesFrameSchema } from "@turnstream/protocol/schema";
import { postMessageReply } from "../../../../protocol/src/commands/http.ts";
import { createGateway } from "../../../src/gateway/gateway.ts";
import { script } from "../../../src/models/script-parts.ts";
import { scriptedModel } from "../../../src/models/scripted-model.ts";
import { defineAgent } from "../../../src/agent/define/agent.ts";
import { tool } from "../../../src/agent/define/tool.ts";
import type { SessionRef } from "../../../src/util/refs.ts";
import { TurnHarness } from "../../engine/turn-harness.ts";
import { StreamClient } from "../clients.ts";
import { createMemoryBackend, openServer, type TestServer } from "../test-server.ts";

let stage: TurnHarness;
let server: TestServer;
const streams: StreamClient[] = [];
/** Two texts, joined. */
const SLOW = "It\n\n took a while.";
/** Lets the turn of the message "gated" continue. */
let openGate: () => void;
let gate: Promise<string>;

const agent = defineAgent({
  name: "a",
  model: scriptedModel(({ text, step }) => {
    if (text === "slow") return [script.text("It"), script.delay(300), script.text(" took a while.")];
    if (text === "gated")
      return step === 0 ? [script.text("It"), script.toolCall("wait")] : [script.text("was opened.")];
    if (text === "silent") return [script.text("Hm"), script.delay(60_000)];
    if (text === "fail") return [script.error({ status: 400 })];
    if (text === "book" && step === 0) return [script.toolCall("book", { beds: 2 })];
    if (text === "ask" && step === 0)
      return [
        script.toolCall("ask_user_question", {
          questions: [{ question: "Which day?", options: ["Sat", "Sun"] }],
        }),
      ];
    // In one chunk: on a slow machine, several chunks would not be merged into one frame, which the tests expect.
    return [script.text(`You wrote ${text}.`, { chunk: 1_000 })];
  }),
  tools: {
    book: tool({ approval: true, run: () => "booked" }),
    wait: tool({ idempotent: true, run: () => gate }),
  },
  askUser: true,
});

async function open(options: Parameters<typeof openServer>[1] = {}): Promise<SessionRef> {
  gate = new Promise((resolve) => (openGate = () => resolve("opened")));
  stage = await TurnHarness.open(createMemoryBackend());
  // A busy machine must not make the only worker lose its lease.
  await stage.worker([agent], { leaseTtlMs: 20_000 });
  server = await openServer(stage.backend, { actor: stage.actor, ...options });
  return stage.session();
}

const address = (ref: SessionRef, rest: string) => `${server.url}/api/v1/sessions/${ref.session}/${rest}`;

async function follow(
  ref: SessionRef,
  rest: string,
  headers: Record<string, string> = {},
): Promise<StreamClient> {
  const stream = await StreamClient.open(address(ref, rest), { headers: { ...server.auth, ...headers } });
  streams.push(stream);
  return stream;
}

async function post(
  ref: SessionRef,
  body: object,
  headers: Record<string, string> = {},
): Promise<StreamClient> {
  const stream = await StreamClient.open(address(ref, "messages"), {
    method: "POST",
    headers: { ...server.auth, ...headers, "content-type": "application/json" },
    body: JSON.stringify({ stream: true, ...body }),
  });
  streams.push(stream);
  return stream;
}

const whole = (ref: SessionRef, body: object) =>
  server.request("POST", `/sessions/${ref.session}/messages`, { body: { stream: false, ...body } });

afterEach(async () => {
  for (const stream of streams.splice(0)) stream.disconnect();
  await server.close();
  await stage.close();
});

describe("posted message", () => {
  test("S01 S02: returns a stream of its turn that ends with [DONE]", async () => {
    const ref = await open();
    const stream = await post(ref, { text: "hello" });
    expect(stream.response.status).toBe(200);
    expect(Object.fromEntries(stream.response.headers)).toMatchObject({
      "content-type": "text/event-stream; charset=utf-8",
      "cache-control": "no-cache, no-transform",
      "x-accel-buffering": "no",
    });
    await stream.ended();
    expect(stream.text.startsWith(": open\n\n")).toBe(true);
    expect(stream.messages.at(-1)).toMatchObject({ data: "[DONE]" });
    for (const frame of stream.frames) expect(responsesFrameSchema.safeParse(frame).error).toBeUndefined();
    expect(stream.messages.slice(0, -1).map(({ event }) => event)).toEqual(
      stream.frames.map(({ type }) => type as string),
    );
    expect(stream.frames[0]).toMatchObject({ type: "response.created" });
    expect(stream.frames.at(-1)).toMatchObject({
      type: "response.output_text.completed",
      final_text: "You wrote hello.",
    });
  });

  test("S01: returns one object with the same end state if `stream` is false", async () => {
    const ref = await open();
    const streamed = await post(ref, { text: "hello" });
    await streamed.ended();
    const { final_text, chat_id } = streamed.frames.at(-1) ?? {};
    const { status, json } = await whole(ref, { text: "hello" });
    expect(status).toBe(200);
    expect(postMessageReply.safeParse(json).error).toBeUndefined();
    expect(json).toMatchObject({ status: "completed", final_text, chat_id, interactions: [] });
  });

  test.for([0, 10])(
    "S01: returns when an approval waits, also if its request is missing in the first %i reads",
    async (missing) => {
      const ref = await open();
      const { interactions } = stage.backend.store;
      const byKey = interactions.byKey.bind(interactions);
      let reads = 0;
      const lookup = vi
        .spyOn(interactions, "byKey")
        .mockImplementation(async (...args) => (++reads <= missing ? null : byKey(...args)));
      const { json } = await whole(ref, { text: "book" });
      expect(json).toMatchObject({
        status: "requires_interaction",
        interactions: [{ approval_key: expect.any(String) }],
      });
      lookup.mockRestore();
      await stage.stop(ref);
    },
  );

  test("S01: waits behind another turn and returns its own", async () => {
    const ref = await open({ limits: { sseKeepAliveMs: 60, heartbeatMs: 20 } });
    const first = await post(ref, { text: "gated" });
    await first.frame("response.output_text.delta");
    const [second, third] = [await post(ref, { text: "two" }), whole(ref, { text: "three" })];
    await expect.poll(() => second.comments.some((text) => text.includes("keep-alive"))).toBe(true);
    openGate();
    await second.ended();
    expect(second.frames.filter(({ type }) => type === "response.created").length).toBe(1);
    expect(second.frames.at(-1)).toMatchObject({ final_text: "You wrote two." });
    expect((await third).json).toMatchObject({ status: "completed", final_text: "You wrote three." });
    expect(first.frames.at(-1)).toMatchObject({ final_text: "It\n\nwas opened." });
  });

  test.for([
    { by: "client_message_id", body: { client_message_id: "m-1" }, headers: {} },
    { by: "idempotency-key", body: {}, headers: { "idempotency-key": "k-1" } },
  ])("attaches to the same turn when it is repeated with the same $by", async ({ body, headers }) => {
    const ref = await open();
    const first = await post(ref, { text: "slow", ...body }, headers);
    await first.frame("response.output_text.delta");
    first.disconnect();
    const again = await post(ref, { text: "slow", ...body }, headers);
    await again.ended();
    const later = await post(ref, { text: "slow", ...body }, headers);
    await later.ended();
    for (const { frames } of [again, later])
      expect([frames[0]?.["response_id"], frames.at(-1)?.["final_text"]]).toEqual([
        first.frames[0]?.["response_id"],
        SLOW,
      ]);
    expect((await stage.state(ref)).turns.length).toBe(1);
  });

  test("returns the answer of a repeated message although the log no longer contains the turn", async () => {
    const ref = await open();
    const body = { text: "hello", client_message_id: "m-1" };
    const first = await post(ref, body);
    await first.ended();
    await stage.ended(ref, () => true);
    const { archived } = await stage.backend.store.archive.header(ref);
    expect(await stage.backend.log.trim(ref, archived)).toBe(true);
    // Another process that has read nothing of the session.
    await server.close();
    server = await openServer(stage.backend, { actor: stage.actor });
    const again = await post(ref, body);
    await again.ended();
    expect(again.frames.map(({ type }) => type as string)).toEqual(
      first.frames.map(({ type }) => type as string),
    );
    expect(again.frames.at(-1)).toEqual(first.frames.at(-1));
    expect(again.messages.at(-1)).toEqual(first.messages.at(-1));
    expect((await whole(ref, body)).json).toMatchObject({
      status: "completed",
      final_text: "You wrote hello.",
    });
    await stage.ask(ref, "next");
    const later = await post(ref, body);
    await later.ended();
    expect(later.frames.at(-1)).toEqual(first.frames.at(-1));
  });

  test("S01: returns the same stream through the plain handler of any server", async () => {
    const ref = await open();
    const gateway = createGateway({ ...stage.backend, secrets: server.secrets });
    const headers = { ...server.auth, "content-type": "application/json" };
    const ask = (body: object) =>
      gateway.handle(
        new Request(address(ref, "messages"), { method: "POST", headers, body: JSON.stringify(body) }),
      );
    const response = await ask({ text: "hello", stream: true });
    expect(response.headers.get("content-type")).toBe("text/event-stream; charset=utf-8");
    const stream = StreamClient.of(response);
    await stream.ended();
    expect(stream.frames.at(-1)).toMatchObject({ final_text: "You wrote hello." });
    expect(stream.messages.at(-1)).toMatchObject({ data: "[DONE]" });
    expect(await (await ask({ text: "hello" })).json()).toMatchObject({ final_text: "You wrote hello." });
    const left = await ask({ text: "slow", stream: true });
    await left.body?.cancel();
    expect((await stage.ended(ref, ({ number }) => number === 3)).status).toBe("end_turn");
    expect(gateway.stats()).toMatchObject({ connections: 0 });
    await gateway.close();
  });

  test("ends its stream with the reason when it is withdrawn while it waits", async () => {
    const ref = await open();
    // The turn never ends by itself. On a busy machine, a shorter one ended before the second message was sent.
    await (await post(ref, { text: "silent" })).frame("response.output_text.delta");
    const waiting = await post(ref, { text: "two", client_message_id: "w" });
    const [{ id } = { id: "" }] = await stage.backend.store.queuedMessages.list(ref);
    expect((await server.request("DELETE", `/sessions/${ref.session}/messages/${id}`)).status).toBeLessThan(
      300,
    );
    await waiting.ended();
    expect(waiting.frames).toMatchObject([{ type: "response.error", error: "NOT_FOUND" }]);
    expect(waiting.messages.at(-1)).toMatchObject({ data: "[DONE]" });
    await stage.stop(ref);
  });

  test("a disconnect doesn't stop the turn", async () => {
    const ref = await open();
    const stream = await post(ref, { text: "gated" });
    await stream.frame("response.output_text.delta");
    const impatient = new AbortController();
    const left = fetch(address(ref, "messages"), {
      method: "POST",
      headers: { ...server.auth, "content-type": "application/json" },
      body: JSON.stringify({ text: "two" }),
      signal: impatient.signal,
    });
    const { queuedMessages } = stage.backend.store;
    await expect.poll(async () => (await queuedMessages.list(ref)).length).toBe(1);
    impatient.abort();
    await expect(left).rejects.toThrow(/abort/i);
    stream.disconnect();
    openGate();
    expect((await stage.ended(ref, ({ number }) => number === 1)).status).toBe("end_turn");
    expect((await stage.ended(ref, ({ number }) => number === 2)).status).toBe("end_turn");
    expect(server.errors).toEqual([]);
  });

  test("S01: if the user must act, the stream continues, and a response without stream returns immediately", async () => {
    const ref = await open();
    const stream = await post(ref, { text: "book", client_message_id: "b" });
    const asked = await stream.frame("response.interaction_request");
    const { json } = await whole(ref, { text: "book", client_message_id: "b" });
    expect(postMessageReply.safeParse(json).error).toBeUndefined();
    expect(json).toMatchObject({ status: "requires_interaction", interactions: [asked] });
    expect(stream.isOver).toBe(false);
    const { approval_key } = asked as { approval_key: string };
    await server.request("POST", `/sessions/${ref.session}/interactions/${approval_key}/decide`, {
      body: { decision: "approve" },
    });
    await stream.ended();
    expect(stream.frames.at(-1)).toMatchObject({ final_text: "You wrote book." });
    const after = await whole(ref, { text: "book", client_message_id: "b" });
    expect(after.json).toMatchObject({ status: "completed", interactions: [] });
  });

  test("S01: a response without stream returns immediately however many forms are pending", async () => {
    const ref = await open();
    const form = { kind: "form", run: "main", block: "b1", index: 1, request: {} } as const;
    for (let n = 0; n < 101; n += 1)
      await stage.backend.store.interactions.request(ref, { ...form, id: `f${n}`, turn: `t${n}` });
    const { json } = await whole(ref, { text: "book" });
    expect(json).toMatchObject({ status: "requires_interaction" });
  });

  test("that answers a question starts no turn: it returns the rest of the turn that asked", async () => {
    const ref = await open();
    const first = await post(ref, { text: "ask" });
    await first.frame("response.interaction_request");
    const answer = await post(ref, { text: "Sun", client_message_id: "a" });
    await answer.ended();
    expect(answer.frames[0]).toMatchObject({ type: "response.interaction_update", status: "answered" });
    expect(answer.frames.at(-1)).toMatchObject({ final_text: "You wrote ask." });
    expect(answer.frames[0]?.["response_id"]).toBe(first.frames[0]?.["response_id"]);
    await first.ended();
    const again = await whole(ref, { text: "Sun", client_message_id: "a" });
    expect(again.json).toMatchObject({ status: "completed", final_text: "You wrote ask." });
    expect((await stage.state(ref)).turns.length).toBe(1);
  });

  test("S02 S09: a failed turn ends its stream with the error and [DONE], and is an HTTP error without stream", async () => {
    const ref = await open();
    const stream = await post(ref, { text: "fail" });
    await stream.ended();
    const error = stream.frames.at(-1);
    expect(error).toMatchObject({ type: "response.error", error: expect.any(String) as string });
    expect(stream.messages.at(-1)).toMatchObject({ data: "[DONE]" });
    const { status, json } = await whole(ref, { text: "fail" });
    expect(status).toBeGreaterThanOrEqual(400);
    expect(json).toMatchObject({ error: error?.["error"] as string, code: error?.["code"] as number });
  });

  test("reports an invalid request before a stream starts", async () => {
    const ref = await open();
    for (const [body, error] of [
      [{ text: "" }, "BAD_REQUEST"],
      [{ text: "x", more: 1 }, "BAD_REQUEST"],
      [{ text: "x", resume_form_request_id: "nothing" }, "NOT_FOUND"],
    ] as const) {
      const { status, json } = await whole(ref, { ...body, stream: true });
      expect([status, json.error]).toEqual([error === "NOT_FOUND" ? 404 : 400, error]);
    }
  });
});

describe("following a session", () => {
  test.for(["native", "blocks", "tasks"])(
    "in %s reports how it started, and stays for the next turn",
    async (dialect) => {
      const ref = await open();
      await stage.ask(ref, "before");
      const stream = await follow(ref, `events?dialect=${dialect}`);
      expect(await stream.frame("subscribed")).toEqual({
        type: "subscribed",
        session_id: ref.session,
        resumed: false,
        reason: "fresh",
        ...(dialect === "native" ? { head: (await stage.events(ref)).at(-1)?.id } : {}),
      });
      expect(stream.messages[0]?.event).toBe("subscribed");
      for (const text of ["one", "two"]) {
        await stage.ask(ref, text);
        await stream.until(text, ({ data }) => data.includes(`You wrote ${text}.`));
      }
      const { id = "" } = stream.messages.findLast(({ id: cursor }) => cursor !== undefined) ?? {};
      expect(id).toMatch(/^\d+-\d+$/);
      stream.disconnect();
      await stage.ask(ref, "three");
      const again = await follow(ref, `events?dialect=${dialect}`, { "last-event-id": id });
      expect(await again.frame("subscribed")).toMatchObject({ resumed: true, reason: "cursor" });
      await again.until("three", ({ data }) => data.includes("You wrote three."));
      expect(again.text).not.toContain("You wrote two.");
    },
  );

  test("S10: in responses ends with the turn, and immediately if there is nothing to send", async () => {
    const ref = await open();
    const posted = await post(ref, { text: "slow" });
    await posted.frame("response.output_text.delta");
    const { id: cursor = "" } = posted.messages.findLast(({ id }) => id !== undefined) ?? {};
    posted.disconnect();
    const rest = await follow(ref, `events?dialect=responses&last_event_id=${cursor}`);
    await rest.ended();
    expect(rest.comments).toContain("resumed: cursor");
    expect(rest.frames.at(-1)).toMatchObject({ final_text: SLOW });
    const { data, id: end = "" } = rest.messages.at(-1) ?? {};
    expect(data).toBe("[DONE]");
    await stage.ended(ref, () => true);
    const nothing = await follow(ref, "events?dialect=responses", { "last-event-id": end });
    await nothing.ended();
    expect(nothing.messages.at(-1)).toMatchObject({ data: "[DONE]" });
    const fresh = await follow(ref, "events?dialect=responses");
    await fresh.ended();
    expect(fresh.messages.map(({ data: text }) => text)).toEqual(["[DONE]"]);
    await stage.backend.log.trim(ref, end);
    for (const [lost, code] of [
      ["1-1", 10015],
      ["nonsense", 10014],
    ] as const) {
      const nowhere = await follow(ref, `events?dialect=responses&last_event_id=${lost}`);
      await nowhere.ended();
      expect(nowhere.frames).toMatchObject([{ type: "response.error", code }]);
      expect(nowhere.messages.at(-1)).toMatchObject({ data: "[DONE]" });
    }
  });

  test("prefers Last-Event-ID to the cursor in the URL, because a reconnect sends both", async () => {
    const ref = await open();
    await stage.ask(ref, "one");
    const first = await follow(ref, "events?dialect=native&last_event_id=0-0");
    await first.until("all", ({ event }) => event === "turn.end");
    const { id = "" } = first.messages.at(-1) ?? {};
    first.disconnect();
    await stage.ask(ref, "two");
    const again = await follow(ref, "events?dialect=native&last_event_id=0-0", { "last-event-id": id });
    await again.until("all", ({ event }) => event === "turn.end");
    expect(again.messages.filter(({ event }) => event === "turn.start")).toHaveLength(1);
    again.disconnect();
  });

  test("refuses unknown dialects", async () => {
    const ref = await open();
    for (const rest of ["events?dialect=klingon", "events?dialect=native&dialect=blocks"]) {
      const { status, json } = await server.request("GET", `/sessions/${ref.session}/${rest}`, {
        headers: server.auth,
      });
      expect([status, json.error]).toEqual([400, "BAD_REQUEST"]);
    }
  });

  test.for(["native", "blocks", "tasks", "responses"])(
    "S10: 180 s without an event end a stream of %s with one error, and comments don't count",
    async (dialect) => {
      const ref = await open({ limits: { turnIdleTimeoutMs: 1_000, heartbeatMs: 20, sseKeepAliveMs: 50 } });
      await stage.send(ref, "silent");
      await stage.until(ref, 30_000, (state) => (state.turns.length > 0 ? true : null));
      const stream = await follow(ref, `events?dialect=${dialect}`);
      await stream.ended();
      expect(stream.comments.filter((text) => text.includes("keep-alive")).length).toBeGreaterThan(0);
      const errors = stream.frames.filter(({ code }) => code === 10013);
      const number = (await stage.backend.store.sessions.find(ref))?.number;
      expect(errors).toMatchObject(
        dialect === "responses"
          ? [{ type: "response.error", chat_id: number, error: "STREAM_TIMEOUT", can_retry: true }]
          : [{ type: "error", error: "STREAM_TIMEOUT", can_retry: true }],
      );
      if (dialect === "responses") expect(stream.messages.at(-1)).toMatchObject({ data: "[DONE]" });
      expect((await stage.state(ref)).turns.last()?.status, "the turn continues").toBe("running");
      await stage.stop(ref);
    },
  );

  test("S10: a turn that waits for the user doesn't time out", async () => {
    const ref = await open({ limits: { turnIdleTimeoutMs: 500, sseKeepAliveMs: 100, heartbeatMs: 20 } });
    await stage.send(ref, "book");
    // Before the stream starts: a busy machine may need longer than the limit to get there.
    await stage.until(ref, 30_000, async () =>
      (await stage.backend.store.interactions.list(ref, { pending: true })).length > 0 ? true : null,
    );
    const stream = await follow(ref, "events?dialect=blocks");
    await stream.until("asked", ({ data }) => data.includes("approval_key"));
    // One every 100 ms: the limit has passed.
    await expect.poll(() => stream.comments.length).toBeGreaterThan(10);
    expect(stream.isOver).toBe(false);
  });

  test("deleting a session ends its streams with the reason", async () => {
    const ref = await open();
    const stream = await follow(ref, "events");
    await stream.frame("subscribed");
    await server.request("DELETE", `/sessions/${ref.session}`);
    await stream.ended();
    expect(stream.frames.at(-1)).toMatchObject({ type: "error", error: "NOT_FOUND" });
  });

  test("a server that shuts down sends when to reconnect", async () => {
    const ref = await open();
    const stream = await follow(ref, "events");
    await stream.frame("subscribed");
    await server.server.close();
    await stream.ended();
    expect(stream.retries.length).toBe(1);
    expect(stream.retries[0]).toBeGreaterThanOrEqual(500);
    expect(stream.retries[0]).toBeLessThanOrEqual(3_000);
    expect(stream.frames.at(-1)).toMatchObject({ type: "subscribed" });
  });

  test.runIf(isStandalone)("a shutdown doesn't wait for a connection that has sent no request", async () => {
    await open();
    const socket = connect(Number(new URL(server.url).port), "127.0.0.1");
    await once(socket, "connect");
    const closed = once(socket, "close");
    socket.resume();
    const byForce = vi.spyOn(Server.prototype, "closeAllConnections");
    await server.server.close();
    await closed;
    expect(byForce).not.toHaveBeenCalled();
    byForce.mockRestore();
  });

  test.each(["posted", "followed", "waiting"])(
    "S02: a stream of responses that is %s during a shutdown ends with [DONE] too",
    async (how) => {
      const ref = await open();
      const first = await post(ref, { text: "silent" });
      await first.frame("response.output_text.delta");
      const stream =
        how === "posted"
          ? first
          : how === "followed"
            ? await follow(ref, "events?dialect=responses")
            : await post(ref, { text: "behind it" });
      if (how === "followed") await stream.frame("response.output_text.delta");
      await server.server.close();
      await stream.ended();
      expect(stream.retries).toHaveLength(1);
      const number = (await stage.backend.store.sessions.find(ref))?.number;
      const error = { type: "response.error", chat_id: number, error: "STREAM_CLOSED", can_retry: true };
      expect(stream.frames.at(-1)).toMatchObject(error);
      expect(stream.messages.at(-1)).toMatchObject({ data: "[DONE]" });
      expect((await stage.state(ref)).turns.last()?.status, "the turn continues").toBe("running");
    },
  );
});
