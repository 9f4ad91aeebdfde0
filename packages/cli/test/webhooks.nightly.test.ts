/** Tests `turnstream webhooks` on a real database: endpoints are created, listed and deleted, and deliveries replayed. */
import { openDatabase, createPostgresStore } from "@turnstream/server";
import { type ClosableStore, WEBHOOK_EVENTS } from "@turnstream/server/internal";
import { freshDatabaseUrl } from "@turnstream/testkit/servers/shared-servers.ts";
import { afterEach, beforeEach, expect, test } from "vitest";
import { ran } from "./ran.ts";

let url: string;
let store: ClosableStore;

beforeEach(async () => {
  url = await freshDatabaseUrl();
  store = createPostgresStore(openDatabase({ url }));
  await turnstream("migrate");
  await store.tenants.create({ id: "acme", name: "Acme" });
});
afterEach(() => store.close());

const turnstream = (...args: string[]) => ran(args, { DATABASE_URL: url });
const webhooks = (...args: string[]) => turnstream("webhooks", ...args, "--tenant", "acme");
const HOOK = "https://receiver.example/hooks";

test("U13 webhooks create prints the secret once, and the endpoint is listed and deleted", async () => {
  const { code, out } = await webhooks("create", HOOK, "--event", "turn.failed", "--event", "turn.ended");
  expect([code, out]).toEqual([0, expect.stringMatching(/^whsec_[A-Za-z0-9+/]{43}=\n$/)]);
  const listed = (await webhooks("list")).out;
  expect(listed).toMatch(/^wh_[0-9a-f]{24}\thttps:\/\/receiver\.example\/hooks\tturn\.failed,turn\.ended\n$/);
  expect(listed).not.toContain(out.trim());
  const id = listed.split("\t")[0] ?? "";
  expect(await webhooks("delete", id)).toMatchObject({ code: 0 });
  expect((await webhooks("list")).out).toBe("");
  expect(await webhooks("delete", id)).toMatchObject({ code: 1 });
});

test("U13 webhooks deliveries lists what was sent, and replay makes it due again", async () => {
  await webhooks("create", HOOK);
  const [endpoint] = await store.webhooks.list("acme");
  const id = endpoint?.id ?? "";
  await store.sessions.create({ tenant: "acme", user: "an" }, { id: "s1" });
  await store.webhooks.enqueue({ tenant: "acme", session: "s1" }, { type: "turn.ended", key: "t", data: {} });
  const [taken] = await store.webhooks.take({ limit: 1, perEndpoint: 1, leaseMs: 1_000 });
  if (taken === undefined) throw new Error("nothing was taken");
  await store.webhooks.settle(taken, { delivered: false, status: 500, error: null, retryInMs: null });
  expect((await webhooks("deliveries", id)).out).toBe(
    `${taken.id}\tfailed\t1 attempts, HTTP 500\tturn.ended\n`,
  );
  expect(await webhooks("replay", id, taken.id)).toMatchObject({ code: 0 });
  expect(await store.webhooks.deliveries("acme", id, { limit: 1 })).toMatchObject([{ state: "pending" }]);
  expect(await webhooks("replay", id, "msg_0")).toMatchObject({ code: 1 });
  expect(await webhooks("deliveries", "wh_0")).toMatchObject({ code: 1 });
});

test("a mistyped command creates nothing", async () => {
  expect(await webhooks("create")).toMatchObject({ code: 2 });
  expect(await webhooks("create", HOOK, "--event", "turn.start")).toMatchObject({
    code: 2,
    err: expect.stringContaining("Unknown event turn.start."),
  });
  expect(await webhooks("create", "ftp://a.example")).toMatchObject({ code: 1 });
  expect(await turnstream("webhooks", "create", HOOK, "--tenant", "missing")).toMatchObject({ code: 1 });
  expect(await store.webhooks.list("acme")).toEqual([]);
  const help = (await turnstream("webhooks", "--help")).out;
  for (const event of WEBHOOK_EVENTS) expect(help).toContain(event);
});
