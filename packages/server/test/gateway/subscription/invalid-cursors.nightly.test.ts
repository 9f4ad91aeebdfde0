/**
 * Promise 5 over real connections: a cursor that can't be resumed gets an explicit response within a second, over
 * sockets, in the header of event streams and in their URL. No client waits forever or receives another user's data.
 */
import { randomUUID } from "node:crypto";
import { EventStreamReader, type StreamMessage } from "@turnstream/conformance/clients/event-stream.ts";
import type { Endpoint } from "@turnstream/conformance/clients/connections.ts";
import type { Frame } from "@turnstream/conformance/clients/rendered-state.ts";
import { SessionClient } from "@turnstream/conformance/clients/session-client.ts";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { createServer, type Server } from "../../../src/gateway/create-server.ts";
import { archiveSession } from "../../../src/session/archive/archive.ts";
import { trimLog } from "@turnstream/testkit/backend/trim-log.ts";
import type { Actor } from "../../../src/util/refs.ts";
import { openRealBackend } from "../../runtime/real-backend.ts";
import type { HarnessBackend } from "../../runtime/turn-harness.ts";
import { SessionHarness } from "../../session/session-harness.ts";

const WITHIN_MS = 1_000;

let parts: HarnessBackend;
let server: Server;
/** Nothing is written to these sessions while clients connect. */
let mine: Opened;
let foreign: Opened;
const failures: string[] = [];

beforeAll(async () => {
  parts = await openRealBackend();
  const { store, log, signals } = parts;
  server = createServer({
    store,
    log,
    signals,
    secrets: ["a secret of this test with enough characters"],
    onError: (error, { during }) => failures.push(`${during}: ${String(error)}`),
  });
  await server.listen();
  [mine, foreign] = [await session(), await session()];
});

afterAll(async () => {
  await server.close();
  await parts.signals.close();
  await parts.log.close();
  await parts.store.close();
});

async function createEndpoint({ tenant, user }: Actor): Promise<Endpoint> {
  const { secret } = await parts.store.keys.create(tenant, { name: "test", scopes: [] });
  return { url: server.url, headers: { "x-api-key": secret, "x-user-id": user } };
}

const QUESTIONS = [{ id: "day", text: "Which day?", options: [], multiple: false, free_text: true }];
const title = (text: string) => ({ type: "session.update", title: text }) as const;

interface Opened {
  readonly world: SessionHarness;
  readonly endpoint: Endpoint;
}

const turn = { turn: "t1" };
const place = { ...turn, run: "main" };

/** A session of two epochs. The log contains nothing of the first. A turn of the second runs and waits for the user. */
async function session(): Promise<Opened> {
  const world = await (await SessionHarness.make(parts)).start();
  await world.append(title("one"), title("two"));
  await archiveSession(parts, world.ref);
  await trimLog(parts, world.ref);
  await world.claim({ type: "turn.takeover", turn: null, blocks: [], groups: [], runs: [] });
  const started = { number: 1, message_number: 1, agent: "a", mode: "agent", from_share: false } as const;
  await world.append(title("three"), { type: "turn.start", ...turn, ...started });
  const [text, asked] = [
    { ...place, block: "b1", index: 0 },
    { ...place, block: "b2", index: 1 },
  ];
  await world.append(
    { type: "run.start", ...place, agent: "a" },
    { type: "text.start", ...text, part: false },
    { type: "text.delta", ...text, text: "some " },
    { type: "text.delta", ...text, text: "text" },
    { type: "text.end", ...text, final: false },
    { type: "question.request", ...asked, key: "k1", call: "c1", questions: QUESTIONS, timeout_seconds: 300 },
    title("four"),
  );
  return { world, endpoint: await createEndpoint(world.actor) };
}

const at = (world: SessionHarness, n: number): string => world.events.at(n)?.id ?? "";

/** The problem and the cursor. */
const CURSORS: readonly (readonly [string, (world: SessionHarness, other: SessionHarness) => string])[] = [
  ["trimmed", (world) => at(world, 1)],
  ["from before the oldest entry", () => "0-0"],
  ["ahead", (world) => at(world, -1).replace(/\d+$/, (seq) => String(Number(seq) + 1_000))],
  ["of a future epoch", (world) => at(world, -1).replace(/^\d+/, (epoch) => String(Number(epoch) + 7))],
  ["of a lost timeline", (world) => at(world, -1).replace(/^\d+/, "1")],
  ["of another session", (_, other) => at(other, -1)],
  ["a word", () => "yesterday"],
  ["negative", () => "-1--1"],
  ["2^64", () => "18446744073709551616-18446744073709551616"],
  ["16 digits", () => "1-9999999999999999"],
  ["with a leading zero", () => "01-2"],
  ["with a space", () => "1-2 "],
];

/** Cursors that are not allowed in a header or would change its meaning. */
const NOT_IN_HEADERS: readonly (readonly [string, string])[] = [
  ["with CRLF", "1-2\r\nx-user-id: another-user"],
  ["with LF", "1-2\n"],
  ["with NUL", "1-2\0"],
  ["in other digits", "١-٢"],
  ["of 1 MB", "9".repeat(1_000_000)],
];

/** The only valid reasons. */
const RESTART_REASONS = new Set(["expired", "invalid"]);

async function answerOf(
  subscriber: SessionClient,
): Promise<{ isRestarted: boolean; error: string | null; ms: number }> {
  const started = performance.now();
  const isAnswered = () => subscriber.rendered.starts.length > 0 || subscriber.end !== null;
  await subscriber.until("answered", isAnswered, 30_000);
  const ms = performance.now() - started;
  const [info] = subscriber.rendered.starts;
  const refused = subscriber.end?.type === "refused" ? subscriber.end.error : null;
  if (subscriber.end !== null && refused === null) throw new Error(`lost: ${JSON.stringify(subscriber.end)}`);
  return {
    isRestarted: info !== undefined && !info.resumed && RESTART_REASONS.has(info.reason),
    error: refused === null ? null : String(refused["error"]),
    ms,
  };
}

const WIRES = [
  ["blocks", "socket"],
  ["tasks", "socket"],
  ["native", "socket"],
  ["blocks", "sse"],
  ["tasks", "sse"],
  ["native", "sse"],
  ["responses", "sse"],
] as const;

describe.each(CURSORS)("cursor that is %s", (_, make) => {
  test.each(WIRES)("restarts with the current state in %s over %s", async (dialect, wire) => {
    const { world, endpoint } = mine;
    const { world: other } = foreign;
    const subscriber = new SessionClient({ session: world.ref.session, dialect, wire });
    subscriber.connect(endpoint, make(world, other));
    const { isRestarted, error, ms } = await answerOf(subscriber);
    expect(ms).toBeLessThan(WITHIN_MS);
    // A socket refuses an invalid cursor. A well-formed one restarts.
    expect(isRestarted || error === "BAD_REQUEST").toBe(true);
    if (isRestarted && dialect === "native")
      await subscriber.until("all there", () => subscriber.rendered.cursor === at(world, -1), WITHIN_MS);
    // Its streams start only with the running turn.
    if (dialect === "responses")
      await subscriber.until("all there", () => subscriber.rendered.cursor === at(world, -1), WITHIN_MS);
    subscriber.cut();
    if (dialect === "responses")
      expect(subscriber.rendered.display()).toMatchObject({
        output: "some text",
        interactions: [{ type: "response.interaction_request", approval_key: "k1" }],
      });
    expect(subscriber.rendered.problems).toEqual([]);
  });

  test("restarts in the URL of an event stream", async () => {
    const { world, endpoint } = mine;
    const { world: other } = foreign;
    const answer = await firstOf(endpoint, world, make(world, other));
    expect(answer).toBe("restarted");
  });
});

describe.each(NOT_IN_HEADERS)("cursor %s", (_, cursor) => {
  test("is refused over a socket", async () => {
    const { world, endpoint } = mine;
    const subscriber = new SessionClient({ session: world.ref.session, dialect: "blocks", wire: "socket" });
    subscriber.connect(endpoint, cursor);
    const { isRestarted, error, ms } = await answerOf(subscriber);
    expect(isRestarted).toBe(false);
    expect(["BAD_REQUEST", "TOO_LARGE"]).toContain(error);
    expect(ms).toBeLessThan(WITHIN_MS);
    subscriber.cut();
  });

  test("is answered in the URL of an event stream", async () => {
    const { world, endpoint } = mine;
    const started = performance.now();
    const answer = await firstOf(endpoint, world, cursor);
    // A cursor that is too long for a URL is refused before it is parsed.
    expect(answer).toBe(cursor.length > 10_000 ? "refused" : "restarted");
    expect(performance.now() - started).toBeLessThan(WITHIN_MS);
  });
});

/** Returns the first response of an event stream with the cursor in its URL. */
async function firstOf(
  { url, headers }: Endpoint,
  { ref }: SessionHarness,
  last_event_id: string,
): Promise<"restarted" | "refused"> {
  const query = new URLSearchParams({ dialect: "native", last_event_id }).toString();
  const leave = new AbortController();
  const signal = AbortSignal.any([leave.signal, AbortSignal.timeout(WITHIN_MS)]);
  const response = await fetch(`${url}/api/v1/sessions/${ref.session}/events?${query}`, { headers, signal });
  if (!response.ok) {
    expect(response.status).toBeGreaterThanOrEqual(400);
    expect(response.status).toBeLessThan(500);
    await response.body?.cancel();
    return "refused";
  }
  const reader = response.body?.getReader();
  const decoder = new TextDecoder();
  const messages = new EventStreamReader();
  let first: StreamMessage | undefined;
  while (first === undefined)
    [first] = messages.push(decoder.decode((await reader?.read())?.value as Uint8Array, { stream: true }));
  leave.abort();
  const frame = JSON.parse(first.data) as Frame;
  expect(frame).toMatchObject({ type: "subscribed", resumed: false });
  expect(RESTART_REASONS).toContain(frame["reason"]);
  return "restarted";
}

describe("session of another user", () => {
  test.each(WIRES)("is not found for another tenant or user in %s over %s", async (dialect, wire) => {
    const { world } = mine;
    const { world: other, endpoint } = foreign;
    const neighbour = await createEndpoint({ tenant: world.actor.tenant, user: `user-${randomUUID()}` });
    for (const stranger of [endpoint, neighbour])
      for (const cursor of [null, at(world, -1), at(other, -1)]) {
        const subscriber = new SessionClient({ session: world.ref.session, dialect, wire });
        subscriber.connect(stranger, cursor);
        const { error, ms } = await answerOf(subscriber);
        expect(error).toBe("NOT_FOUND");
        expect(ms).toBeLessThan(WITHIN_MS);
        expect(subscriber.rendered.frames).toEqual([]);
        subscriber.cut();
      }
  });
});

test("resumes at a valid cursor", async () => {
  const { world, endpoint } = mine;
  for (const [dialect, wire] of WIRES) {
    const subscriber = new SessionClient({ session: world.ref.session, dialect, wire });
    subscriber.connect(endpoint, at(world, -2));
    await subscriber.until("subscribed", () => subscriber.rendered.starts.length > 0);
    expect(subscriber.rendered.starts).toEqual([{ resumed: true, reason: "cursor" }]);
    subscriber.cut();
  }
});

test("the gateway reports no error for any of these", () => {
  expect(failures).toEqual([]);
});
