/**
 * Tests that every POST that creates something creates it once per `idempotency-key`. It covers the route table, so a
 * new route must be listed.
 */
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { ALL_ROUTES } from "../all-routes.ts";
import { script } from "../../../src/models/script-parts.ts";
import { scriptedModel } from "../../../src/models/scripted-model.ts";
import { defineAgent } from "../../../src/agent/define/agent.ts";
import { StoreError } from "../../../src/store/errors.ts";
import type { SessionRef } from "../../../src/util/refs.ts";
import { GatewayHarness } from "../gateway-harness.ts";
import type { HarnessBackend } from "../../engine/turn-harness.ts";

/** Routes that change existing data or authenticate. A repeated request does no harm. */
const MAKE_NOTHING = [
  "POST /tokens",
  "POST /sign-in",
  "POST /tickets",
  // A file exists once the upload is complete, and it can be completed again.
  "POST /sessions/{session}/uploads",
  "POST /sessions/{session}/uploads/{file}/complete",
  "POST /sessions/{session}/stop",
  "POST /sessions/{session}/turns/{turn}/stop",
  "POST /sessions/{session}/interactions/{interaction}/decide",
  "POST /sessions/{session}/interactions/{interaction}/answer",
  "POST /sessions/{session}/interactions/{interaction}/dismiss",
  "POST /sessions/{session}/interactions/{interaction}/submit",
  "POST /sessions/{session}/interactions/{interaction}/decline",
  "POST /sessions/{session}/payments/{payment}/refresh",
  "POST /sessions/{session}/payments/{payment}/cancel",
  "POST /payments/checkout/{token}",
  "POST /payments/return/{token}",
  "POST /payments/notify/{provider}",
  "POST /payments/{payment}/resolve",
  "POST /webhooks/{webhook}/deliveries/{delivery}/replay",
];

interface Asking {
  readonly path: string;
  readonly body?: unknown;
}

interface Making {
  /** @returns the path and the body of a request */
  readonly ready: () => Promise<Asking>;
  /** @returns another request to the same route */
  readonly other: () => Promise<Asking>;
  /** The number of created resources. */
  readonly count: () => Promise<number>;
}

/** @param without the routes whose resources the backend doesn't have */
export function idempotencyContract(
  makeBackend: () => Promise<HarnessBackend>,
  without: readonly string[] = [],
): void {
  let harness: GatewayHarness;
  let ref: SessionRef;
  beforeEach(async () => {
    harness = await GatewayHarness.open(await makeBackend());
    const model = scriptedModel(({ text }) =>
      text === "fail"
        ? [script.error({ status: 500 }, { times: 1 }), script.text("now")]
        : [script.text("yes")],
    );
    const agent = defineAgent({ name: "a", title: false, retry: { maxAttempts: 1 }, model });
    await harness.stage.worker([agent]);
    ref = await harness.stage.session();
  });
  afterEach(() => harness.close());

  const at = (end: string) => `/sessions/${ref.session}${end}`;
  const sessions = async () => (await harness.json("GET", "/sessions")).sessions.length as number;
  const turns = async () => (await harness.stage.state(ref)).turns.length;

  const MAKINGS: Readonly<Record<string, Making>> = {
    "POST /sessions": {
      ready: async () => ({ path: "/sessions", body: { title: "x" } }),
      other: async () => ({ path: "/sessions", body: { title: "y" } }),
      count: sessions,
    },
    "POST /sessions/{session}/messages": {
      ready: async () => ({ path: at("/messages"), body: { text: "hello" } }),
      other: async () => ({ path: at("/messages"), body: { text: "goodbye" } }),
      count: turns,
    },
    "POST /chats/{session}/messages": {
      ready: async () => ({ path: `/chats/${ref.session}/messages`, body: { message: "hello" } }),
      other: async () => ({ path: `/chats/${ref.session}/messages`, body: { message: "goodbye" } }),
      count: turns,
    },
    "POST /sessions/{session}/shares": {
      ready: async () => ({ path: at("/shares") }),
      other: async () => ({ path: `/sessions/${(await harness.stage.session()).session}/shares` }),
      count: async () => (await harness.json("GET", at("/shares"))).shares.length,
    },
    "POST /shares/{token}/fork": {
      async ready() {
        await harness.stage.ask(ref, "hello");
        const { token } = await harness.json("POST", at("/shares"));
        return { path: `/shares/${token}/fork` };
      },
      other: async () => ({ path: `/shares/${(await harness.json("POST", at("/shares"))).token}/fork` }),
      count: sessions,
    },
    "POST /sessions/{session}/turns/{turn}/retry": {
      ready: async () => ({ path: at(`/turns/${(await harness.stage.ask(ref, "fail")).id}/retry`) }),
      other: async () => ({ path: at("/turns/another/retry") }),
      async count() {
        // A worker fetches the job of the retry a moment after the response.
        const { running } = harness.stage.backend.store;
        await vi.waitFor(async () => expect(await running.get(ref)).toBeNull(), { timeout: 60_000 });
        return turns();
      },
    },
    "POST /sessions/{session}/files": {
      ready: async () => ({ path: at("/files?name=a.json"), body: { any: "bytes" } }),
      other: async () => ({ path: at("/files?name=a.json"), body: { other: "bytes" } }),
      // Files can't be listed, so the test compares the responses.
      count: async () => 1,
    },
    "POST /knowledge/{base}/objects": {
      ready: async () => ({ path: "/knowledge/huts/objects", body: { objects: [{ id: "a", text: "x" }] } }),
      other: async () => ({ path: "/knowledge/huts/objects", body: { objects: [{ id: "b", text: "y" }] } }),
      count: async () => (await harness.json("GET", "/knowledge/huts/objects")).objects.length,
    },
    "POST /webhooks": {
      ready: async () => ({ path: "/webhooks", body: { url: "https://receiver.example/a" } }),
      other: async () => ({ path: "/webhooks", body: { url: "https://receiver.example/b" } }),
      count: async () => (await harness.json("GET", "/webhooks")).webhooks.length,
    },
  };

  test("every POST either creates something and respects the key, or is listed as creating nothing", () => {
    const posts = ALL_ROUTES.filter(({ method }) => method === "POST");
    const nameOf = ({ method, path }: (typeof posts)[number]) => `${method} ${path}`;
    const making = posts.filter(({ idempotent = false }) => idempotent !== false).map(nameOf);
    expect(making.toSorted()).toEqual(Object.keys(MAKINGS).toSorted());
    expect(posts.map(nameOf).toSorted()).toEqual([...making, ...MAKE_NOTHING].toSorted());
  });

  test("the same key with other bytes or another name is a conflict", async () => {
    const headers = { ...harness.server.auth, "idempotency-key": "file" };
    const upload = (name: string, body: unknown) =>
      harness.request("POST", at(`/files?name=${name}`), { headers, body });
    expect((await upload("a.json", { some: "bytes" })).status).toBeLessThan(300);
    expect(await upload("a.json", { more: "bytes, and others" })).toMatchObject({ status: 409 });
    expect(await upload("b.json", { some: "bytes" })).toMatchObject({ status: 409 });
  });

  const MADE = Object.entries(MAKINGS).filter(([name]) => !without.includes(name));

  function post({ path, body }: Asking, key: string): ReturnType<GatewayHarness["request"]> {
    const headers = { ...harness.server.auth, "idempotency-key": key };
    return harness.request("POST", path, { headers, ...(body === undefined ? {} : { body }) });
  }

  test.each(MADE)("%s, repeated and sent concurrently, creates one resource", async (_, { ready, count }) => {
    const asking = await ready();
    const [first, second] = await Promise.all([post(asking, "once"), post(asking, "once")]);
    expect(first.status, first.text).toBeLessThan(300);
    const many = await count();
    const third = await post(asking, "once");
    for (const again of [second, third])
      expect([again.status, again.json]).toEqual([first.status, first.json]);
    expect(await count()).toBe(many);
    const replayed = [first, second, third].map(({ headers }) => headers.get("idempotency-replayed"));
    expect(replayed.filter((header) => header === null)).toHaveLength(1);
    expect(replayed[2]).toBe("true");
    const other = await post(asking, "other");
    expect(JSON.stringify(other.json)).not.toBe(JSON.stringify(first.json));
  });

  test.each(MADE)("%s with another body under the same key is a conflict", async (_, making) => {
    const asking = await making.ready();
    const other = await making.other();
    expect((await post(asking, "once")).status).toBeLessThan(300);
    const many = await making.count();
    expect(await post(other, "once")).toMatchObject({ status: 409, json: { error: "CONFLICT" } });
    expect(await making.count()).toBe(many);
  });

  test.each(MADE)("%s refuses an invalid key", async (_, { ready, count }) => {
    const asking = await ready();
    const many = await count();
    for (const bad of ["with spaces", "x".repeat(201)])
      expect(await post(asking, bad)).toMatchObject({ status: 400, json: { error: "BAD_REQUEST" } });
    expect(await count()).toBe(many);
  });

  test("the response format is not part of the request: a repeat of a message may be a stream", async () => {
    const body = { text: "hello" };
    const whole = await post({ path: at("/messages"), body }, "once");
    const streamed = await post({ path: at("/messages"), body: { ...body, stream: true } }, "once");
    expect(streamed.headers.get("idempotency-replayed")).toBe("true");
    expect(streamed.text).toContain(`"response_id":"${whole.json.response_id}"`);
    expect(await turns()).toBe(1);
  });

  test("a repeat returns the share whose response was lost", async () => {
    const { shares } = harness.stage.backend.store;
    const create = shares.create.bind(shares);
    vi.spyOn(shares, "create").mockImplementationOnce(async (...asked) => {
      await create(...asked);
      throw new StoreError("UNAVAILABLE", "the answer to the commit was lost");
    });
    expect((await post({ path: at("/shares") }, "once")).status).toBe(503);
    const again = await post({ path: at("/shares") }, "once");
    expect(again.status).toBe(201);
    expect((await harness.json("GET", at("/shares"))).shares).toEqual([again.json]);
  });
}
