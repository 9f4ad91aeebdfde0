/**
 * Tests clients that don't read, over real TCP: their buffer is bounded, they receive a notice, and other clients are
 * not affected.
 */
import { BlocksClient } from "@turnstream/conformance/clients/blocks-client.ts";
import { TasksClient } from "@turnstream/conformance/clients/tasks-client.ts";
import { get, type IncomingMessage } from "node:http";
import { createSseParser } from "@turnstream/protocol";
import type { EventDraft } from "@turnstream/protocol/writer";
import { afterEach, describe, expect, test } from "vitest";
import { SessionHarness } from "../../session/session-harness.ts";
import { SocketClient } from "../clients.ts";
import { createMemoryBackend, openServer, type TestServer } from "../test-server.ts";

const MIB = 1024 * 1024;
const TEXT = "x".repeat(48 * 1024);

let world: SessionHarness;
let server: TestServer;
const clients: SocketClient[] = [];

afterEach(async () => {
  for (const client of clients.splice(0)) client.close();
  await server.close();
  const { log, store } = world.backend;
  await log.close();
  await store.close();
});

async function open(limits = {}): Promise<void> {
  const parts = createMemoryBackend();
  world = await (await SessionHarness.make(parts)).start();
  server = await openServer(parts, { actor: world.actor, limits: { snapshotTurns: 3, ...limits } });
}

async function connect(dialect: string): Promise<SocketClient> {
  const client = await SocketClient.open(server, { dialect });
  clients.push(client);
  await client.request({ type: "subscribe", session_id: world.ref.session });
  return client;
}

let turns = 0;

async function turn(text: string): Promise<void> {
  const id = `t${++turns}`;
  const on = { turn: id, run: "main", block: "b0", index: 0 };
  const events: EventDraft[] = [
    {
      type: "turn.start",
      turn: id,
      number: turns,
      message_number: turns,
      agent: "a",
      mode: "agent",
      from_share: false,
    },
    { type: "run.start", turn: id, run: "main", agent: "a" },
    { type: "text.start", ...on, part: false },
    { type: "text.delta", ...on, text },
    { type: "text.end", ...on, final: true },
    { type: "run.end", turn: id, run: "main", status: "completed" },
    { type: "turn.end", turn: id, reason: "end_turn", duration_ms: 1 },
  ];
  await world.append(...events);
}

/**
 * Writes more than the buffers of both systems take, until frames are dropped. @returns the largest number of buffered
 * bytes
 */
async function overrun(isOver: () => boolean): Promise<number> {
  let most = 0;
  for (let n = 0; n < 800 && !isOver(); n++) {
    await turn(TEXT);
    // Gives other clients time to read.
    await new Promise((resolve) => setImmediate(resolve));
    most = Math.max(most, server.server.stats().maxBufferedBytes);
  }
  return most;
}

function isEnd({ type }: Record<string, unknown>): boolean {
  return ["turn.end", "message_stop", "task.done"].includes(type as string);
}

describe("socket that is not read (reliability 11)", () => {
  test.for(["native", "blocks", "tasks"])("has a bounded buffer and catches up in %s", async (dialect) => {
    await open();
    const [fast, slow] = [await connect(dialect), await connect(dialect)];
    slow.socket.pause();
    let peak = 0;
    const most = await overrun(() => {
      const { maxBufferedBytes } = server.server.stats();
      const dropped = maxBufferedBytes < peak - 256 * 1024;
      peak = Math.max(peak, maxBufferedBytes);
      return dropped;
    });
    expect(most, "it was clogged").toBeGreaterThan(256 * 1024);
    expect(most).toBeLessThanOrEqual(MIB);
    const last = turns;
    const isLast = (frame: Record<string, unknown>) => JSON.stringify(frame).includes(`"t${last}"`);
    await fast.until("the last turn", isLast);
    expect(fast.frames.filter(({ type }) => type === "subscribed").length).toBe(1);
    slow.socket.resume();
    const notice = await slow.until("slow", ({ type, reason }) => type === "subscribed" && reason === "slow");
    expect(notice).toEqual({
      type: "subscribed",
      session_id: world.ref.session,
      // A `blocks` client restarts if it missed more than a window contains.
      resumed: dialect === "blocks" ? (expect.any(Boolean) as boolean) : dialect === "tasks",
      reason: "slow",
      ...(dialect === "native" ? { head: expect.any(String) as string } : {}),
    });
    await turn("the end");
    for (const client of [slow, fast]) {
      const end = await client.until("the end", (frame) => JSON.stringify(frame).includes("the end"));
      await client.until("all of it", isEnd, client.frames.indexOf(end));
    }
    if (dialect === "native") return;
    const shown = [fast, slow].map(({ frames }) => {
      const client = dialect === "blocks" ? new BlocksClient() : new TasksClient();
      for (const frame of frames) if (frame["type"] !== "subscribed") client.handle(frame);
      expect(client.problems).toEqual([]);
      const display = client.display();
      return Object.fromEntries([`t${last}`, `t${last + 1}`].map((id) => [id, display[id]]));
    });
    expect(shown[1]).toEqual(shown[0]);
  });

  test("is closed if it never drains, and its buffer is released", async () => {
    await open({ stallTimeoutMs: 300, heartbeatMs: 20 });
    const slow = await connect("native");
    slow.socket.pause();
    await overrun(() => server.server.stats().maxBufferedBytes > 256 * 1024);
    await expect.poll(() => server.server.stats()).toMatchObject({ connections: 0, bufferedBytes: 0 });
  });

  test("still receives the replies to its commands", async () => {
    await open();
    const slow = await connect("native");
    slow.socket.pause();
    await overrun(() => server.server.stats().maxBufferedBytes > 128 * 1024);
    slow.socket.send(JSON.stringify({ type: "stop", session_id: world.ref.session, request_id: "late" }));
    let peak = 0;
    await overrun(() => {
      const { maxBufferedBytes } = server.server.stats();
      peak = Math.max(peak, maxBufferedBytes);
      return maxBufferedBytes < peak - 256 * 1024;
    });
    slow.socket.resume();
    expect(await slow.until("the answer", ({ request_id }) => request_id === "late")).toMatchObject({
      type: "ack",
    });
  });
});

describe("event stream that is not read (reliability 11)", () => {
  test("is closed if it never drains", async () => {
    await open({ stallTimeoutMs: 300, heartbeatMs: 20 });
    const path = `/api/v1/sessions/${world.ref.session}/events?dialect=native`;
    const response = await new Promise<IncomingMessage>((resolve) => {
      get(`${server.url}${path}`, { headers: server.auth }, resolve);
    });
    response.on("error", () => undefined).pause();
    await overrun(() => server.server.stats().maxBufferedBytes > 256 * 1024);
    await expect.poll(() => server.server.stats()).toMatchObject({ connections: 0, bufferedBytes: 0 });
    response.destroy();
  });

  test("receives a notice and a snapshot of the current state", async () => {
    await open();
    const path = `/api/v1/sessions/${world.ref.session}/events?dialect=native`;
    const response = await new Promise<IncomingMessage>((resolve) => {
      get(`${server.url}${path}`, { headers: server.auth }, resolve);
    });
    await new Promise<void>((resolve) => {
      let head = "";
      response.on("data", (bytes: Buffer) => {
        head += bytes.toString();
        if (head.includes("event: snapshot")) resolve();
      });
    });
    response.removeAllListeners("data").pause();
    // The client has read everything and accepts more.
    await expect.poll(() => server.server.stats().bufferedBytes).toBe(0);
    let peak = 0;
    const most = await overrun(() => {
      const { maxBufferedBytes } = server.server.stats();
      const dropped = maxBufferedBytes < peak - 256 * 1024;
      peak = Math.max(peak, maxBufferedBytes);
      return dropped;
    });
    expect(most).toBeGreaterThan(256 * 1024);
    expect(most).toBeLessThanOrEqual(MIB);
    const received: string[] = [];
    const parser = createSseParser(({ event, data }) =>
      received.push(
        event === "subscribed" ? data : (event ?? "") + (data.includes("the end") ? " the end" : ""),
      ),
    );
    const decoder = new TextDecoder();
    response.on("data", (bytes: Buffer) => parser.push(decoder.decode(bytes, { stream: true }))).resume();
    const hasReceived = (what: string) => received.some((one) => one.includes(what));
    await expect.poll(() => hasReceived('"slow"')).toBe(true);
    await turn("the end");
    await expect.poll(() => hasReceived("the end")).toBe(true);
    const at = received.findIndex((one) => one.includes('"slow"'));
    expect(JSON.parse(received[at] ?? "")).toMatchObject({ resumed: false, reason: "slow" });
    expect(received[at + 1]).toBe("snapshot");
    response.destroy();
  });
});
