/** Every POST that makes something makes it once under its `idempotency-key`. Walks the table: a new route has to be listed. */
import { afterEach, beforeEach, expect, test } from "vitest";
import { ROUTES } from "../../src/gateway/http/routes.ts";
import { fail, say } from "../../src/models/script-parts.ts";
import { scripted } from "../../src/models/scripted.ts";
import { defineAgent } from "../../src/runtime/define/agent.ts";
import type { Ref } from "../../src/store/refs.ts";
import { Desk } from "./desk.ts";
import { memoryParts } from "./server.ts";

/** They change what is there, or let somebody in; repeated, they do no harm. */
const MAKE_NOTHING = [
  "POST /tokens",
  "POST /tickets",
  "POST /sessions/{session}/stop",
  "POST /sessions/{session}/turns/{turn}/stop",
  "POST /sessions/{session}/interactions/{interaction}/decide",
  "POST /sessions/{session}/interactions/{interaction}/answer",
  "POST /sessions/{session}/interactions/{interaction}/dismiss",
  "POST /sessions/{session}/interactions/{interaction}/submit",
  "POST /sessions/{session}/interactions/{interaction}/decline",
];

interface Making {
  /** @returns the path to ask, and what to send */
  readonly ready: () => Promise<{ readonly path: string; readonly body?: unknown }>;
  /** How many there are. */
  readonly count: () => Promise<number>;
}

let desk: Desk;
let ref: Ref;
beforeEach(async () => {
  desk = await Desk.open(memoryParts());
  const model = scripted(({ text }) =>
    text === "fail" ? [fail({ status: 500 }, { times: 1 }), say("now")] : [say("yes")],
  );
  const agent = defineAgent({ name: "a", title: false, retries: { tries: 1 }, model });
  await desk.stage.worker([agent]);
  ref = await desk.stage.session();
});
afterEach(() => desk.close());

const at = (end: string) => `/sessions/${ref.session}${end}`;
const sessions = async () => (await desk.json("GET", "/sessions")).sessions.length as number;
const turns = async () => (await desk.stage.state(ref)).turns.length;

const MAKINGS: Readonly<Record<string, Making>> = {
  "POST /sessions": {
    ready: async () => ({ path: "/sessions", body: { title: "x" } }),
    count: sessions,
  },
  "POST /sessions/{session}/messages": {
    ready: async () => ({ path: at("/messages"), body: { message: "hello" } }),
    count: turns,
  },
  "POST /sessions/{session}/shares": {
    ready: async () => ({ path: at("/shares") }),
    count: async () => (await desk.json("GET", at("/shares"))).shares.length,
  },
  "POST /shares/{token}/fork": {
    async ready() {
      await desk.stage.ask(ref, "hello");
      const { token } = await desk.json("POST", at("/shares"));
      return { path: `/shares/${token}/fork` };
    },
    count: sessions,
  },
  "POST /sessions/{session}/turns/{turn}/retry": {
    ready: async () => ({ path: at(`/turns/${(await desk.stage.ask(ref, "fail")).id}/retry`) }),
    async count() {
      await desk.stage.until(ref, 30_000, (state) =>
        state.turns.last()?.status === "running" ? null : true,
      );
      return turns();
    },
  },
  "POST /sessions/{session}/files": {
    ready: async () => ({ path: at("/files?name=a.json"), body: { any: "bytes" } }),
    // Nobody lists them: the answers are compared.
    count: async () => 1,
  },
  "POST /knowledge/{base}/objects": {
    ready: async () => ({ path: "/knowledge/huts/objects", body: { objects: [{ id: "a", text: "x" }] } }),
    count: async () => (await desk.json("GET", "/knowledge/huts/objects")).objects.length,
  },
};

test("a POST makes something and heeds the key, or is known to make nothing", () => {
  const posts = ROUTES.filter(({ method }) => method === "POST");
  const nameOf = ({ method, path }: (typeof posts)[number]) => `${method} ${path}`;
  const making = posts.filter(({ creates = false }) => creates !== false).map(nameOf);
  expect(making.toSorted()).toEqual(Object.keys(MAKINGS).toSorted());
  expect(posts.map(nameOf).toSorted()).toEqual([...making, ...MAKE_NOTHING].toSorted());
});

test("the same key for other bytes, or for bytes of another name, is a conflict", async () => {
  const headers = { ...desk.server.auth, "idempotency-key": "file" };
  const upload = (name: string, body: unknown) =>
    desk.ask("POST", at(`/files?name=${name}`), { headers, body });
  expect((await upload("a.json", { some: "bytes" })).status).toBeLessThan(300);
  expect(await upload("a.json", { more: "bytes, and others" })).toMatchObject({ status: 409 });
  expect(await upload("b.json", { some: "bytes" })).toMatchObject({ status: 409 });
});

test.each(Object.entries(MAKINGS))("%s, asked again and at once, makes one", async (_, { ready, count }) => {
  const { path, body } = await ready();
  const headers = { ...desk.server.auth, "idempotency-key": "once" };
  const asked = () => desk.ask("POST", path, { headers, ...(body === undefined ? {} : { body }) });
  const [first, second] = await Promise.all([asked(), asked()]);
  expect(first.status, first.text).toBeLessThan(300);
  const many = await count();
  const third = await asked();
  for (const again of [second, third]) expect([again.status, again.json]).toEqual([first.status, first.json]);
  expect(await count()).toBe(many);
  const other = await desk.ask("POST", path, {
    headers: { ...headers, "idempotency-key": "other" },
    ...(body === undefined ? {} : { body }),
  });
  expect(JSON.stringify(other.json)).not.toBe(JSON.stringify(first.json));
});
