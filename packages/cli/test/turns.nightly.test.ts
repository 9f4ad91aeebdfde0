/** Tests `turnstream turns` and `tail` on real servers: each planted cause of a turn that hangs is named. */
import {
  createSession,
  decideApproval,
  defineAgent,
  sendMessage,
  startWorker,
  tool,
} from "@turnstream/server";
import { script, scriptedModel } from "@turnstream/server/testing";
import { migratedDatabaseUrl } from "@turnstream/testkit/backend/migrated-database-url.ts";
import { openBackend, type TestBackend } from "@turnstream/testkit/backend/open-backend.ts";
import { runSql } from "@turnstream/testkit/servers/run-sql.ts";
import { type RedisServer, startRedis } from "@turnstream/testkit/servers/start-redis.ts";
import { afterAll, afterEach, beforeAll, expect, test, vi } from "vitest";
import { ran } from "./ran.ts";

const TENANT = "acme";
const PARK_AFTER_MS = 1_000;
let redis: RedisServer;
let backend: TestBackend;
let databaseUrl: string;
let release: () => void = () => undefined;
const workers: { shutdown(): Promise<void> }[] = [];

beforeAll(async () => {
  redis = await startRedis();
  databaseUrl = await migratedDatabaseUrl();
  backend = await openBackend({ databaseUrl, redisUrl: redis.url, hasLeasePool: true });
  for (const id of [TENANT, "other"]) await backend.store.tenants.create({ id, name: id });
});
afterEach(async () => {
  release();
  for (const worker of workers.splice(0)) await worker.shutdown();
});
afterAll(async () => {
  await backend.close();
  await redis.stop();
});

const slow = tool({
  run: () => new Promise<string>((resolve) => (release = () => resolve("done"))),
});
const sell = tool({ approval: true, run: async () => "sold" });
const callOnce = (name: string) => scriptedModel([[script.toolCall(name, {})], [script.text("The answer.")]]);
const AGENTS = {
  waiter: defineAgent({ name: "waiter", model: callOnce("slow"), tools: { slow }, title: false }),
  seller: defineAgent({ name: "seller", model: callOnce("sell"), tools: { sell }, title: false }),
  clerk: defineAgent({ name: "clerk", model: scriptedModel([[script.text("Hello.")]]), title: false }),
};

async function work(...names: (keyof typeof AGENTS)[]): Promise<void> {
  const { store, log, signals } = backend;
  const agents = names.map((name) => AGENTS[name]);
  const parkAfterMs = PARK_AFTER_MS;
  workers.push(await startWorker({ store, log, signals, agents, parkAfterMs, onError: () => undefined }));
}

async function send(session: string, options: { readonly agent?: string } = {}): Promise<void> {
  await createSession(backend, { tenant: TENANT, user: "an" }, { id: session });
  await sendMessage(
    backend,
    { tenant: TENANT, session },
    { id: `m-${session}`, text: "Hi", options: { ...options } },
  );
}

const turnstream = (...args: string[]) => ran(args, { DATABASE_URL: databaseUrl, REDIS_URL: redis.url });
const turns = (...args: string[]) => turnstream("turns", ...args, "--tenant", TENANT);

/** Starts `tail`, and waits until it follows the session: it prints all events that happen from then on. */
async function startTail(...args: string[]) {
  const abort = new AbortController();
  let result: ReturnType<typeof ran> | undefined;
  const firstNotice = await new Promise<string>((resolve, reject) => {
    result = ran(
      ["tail", ...args, "--tenant", TENANT],
      { DATABASE_URL: databaseUrl, REDIS_URL: redis.url },
      { signal: abort.signal, err: resolve },
    );
    result.then(() => reject(new Error("tail ended before it followed the session")), reject);
  });
  return { firstNotice, result, stop: () => abort.abort() };
}

/** Waits until `turns show` has a reason. */
async function until(id: string, reason: RegExp): Promise<Record<string, unknown>> {
  return await vi.waitFor(
    async () => {
      const { code, out } = await turns("show", id, "--json");
      expect(code).toBe(0);
      const report = JSON.parse(out) as Record<string, unknown>;
      expect(report["reason"]).toMatch(reason);
      return report;
    },
    { timeout: 20_000, interval: 200 },
  );
}

test("no worker: the message waits, and the next worker answers it", async () => {
  await send("s-none");
  const report = await until("s-none", /^No worker is running/);
  expect(report).toMatchObject({
    state: "queued",
    turn: null,
    fix: expect.stringContaining("Start a worker"),
  });
  const listed = await turns("list", "--state", "waiting");
  expect(listed).toMatchObject({ code: 0, err: "No worker is running.\n" });
  expect(listed.out).toMatch(/^s-none\t-\tqueued\t\d+ s\t-\t0\t-\ta worker\n$/);
  await work("clerk");
  await until("s-none", /^The turn has ended \(end_turn\)\.$/);
  expect(await turns("list")).toEqual({ code: 0, out: "", err: "No such turns.\n" });
});

test("a slow tool: its name and age, the worker and its lease", { timeout: 60_000 }, async () => {
  await work("waiter");
  await send("s-slow");
  const report = await until("s-slow", /^The tool slow has run for \d+ s and has not returned\.$/);
  expect(report).toMatchObject({ state: "running", agent: "waiter", attempts: 1, waitsFor: ["tool slow"] });
  const { out } = await turns("show", String(report["turn"]));
  expect(out).toMatch(/^Worker +\S+, its lease is valid$/m);
  expect(out).toMatch(/^Last event +\d+ s ago$/m);
  expect(await turnstream("turns", "show", "s-slow", "--tenant", "other")).toMatchObject({
    code: 1,
    out: "",
  });
  // A stop ends the turn, although the tool ignores its signal.
  expect(await turns("stop", "s-slow")).toMatchObject({ code: 0 });
  await until("s-slow", /^The turn was stopped\.$/);
  expect(await turns("stop", "s-slow")).toMatchObject({
    code: 1,
    err: expect.stringContaining("no unfinished"),
  });
});

test(
  "a turn that ended its processes: listed with its deaths, explained and restarted",
  { timeout: 60_000 },
  async () => {
    await send("s-dead");
    const { queue, leases } = backend.store;
    await leases.take("dead", 60_000);
    const [started] = await queue.start({ executor: "dead", agents: ["clerk"], limit: 1, isIdle: true });
    if (started === undefined) throw new Error("no turn");
    const { held, row } = started;
    await runSql(databaseUrl, `update turnstream.turn_queue set deaths = 5 where turn = '${row.turn}'`);
    await queue.release([held]);
    await queue.leave("dead");
    await work("clerk");
    const report = await until("s-dead", /^The turn was ended because 5 processes died while they ran it\.$/);
    expect(report).toMatchObject({ state: "failed", turn: row.turn, deaths: 5, attempts: null });
    const dead = await turnstream("turns", "dead");
    expect(dead.out).toMatch(new RegExp(`^acme\\ts-dead\\t${row.turn}\\t-\\t5\\t\\d+ s ago\\n$`));
    expect(dead.err).toContain("turnstream turns retry --tenant TENANT SESSION");
    expect(await turns("retry", "s-dead")).toMatchObject({ code: 0 });
    await until("s-dead", /^The turn has ended \(end_turn\)\.$/);
    expect(await turnstream("turns", "dead")).toEqual({ code: 0, out: "", err: "No such turns.\n" });
  },
);

test("a parked turn: it waits for the user, and no worker has it", { timeout: 60_000 }, async () => {
  await work("seller");
  await send("s-parked");
  await until("s-parked", /^The turn has waited \d+ s for the user: an approval is pending/);
  await vi.waitFor(
    async () => {
      expect((await turns("show", "s-parked")).out).toMatch(/^Worker +-$/m);
      expect((await turns("list", "--state", "waiting")).out).toMatch(/^s-parked\t.*\t-\tapproval\n$/);
    },
    { timeout: 20_000 },
  );
  expect(await turns("stop", "s-parked")).toMatchObject({ code: 0 });
  await until("s-parked", /^The turn was stopped\.$/);
});

test("Redis refuses writes: the error code, also while a tool runs", { timeout: 60_000 }, async () => {
  await work("waiter");
  await send("s-full");
  await until("s-full", /^The tool slow/);
  await redis.command("CONFIG", "SET", "maxmemory", "1");
  try {
    const report = await until(
      "s-full",
      /^Redis refuses writes \(OOM\), so the worker can't write events\.$/,
    );
    expect(report["fix"]).toContain("turnstream doctor");
  } finally {
    await redis.command("CONFIG", "SET", "maxmemory", "0");
  }
  release();
  await until("s-full", /^The turn has ended \(end_turn\)\.$/);
});

test("a turn that waits for its user: the kind and the key of the request", { timeout: 60_000 }, async () => {
  await work("seller");
  await send("s-user");
  const report = await until("s-user", /^The turn has waited \d+ s for the user: an approval is pending/);
  expect(report["state"]).toBe("waiting");
  const [waitsFor] = report["waitsFor"] as string[];
  expect((await turns("list", "--state", "waiting")).out).toMatch(/^s-user\t.*\tapproval\n$/);
  const key = waitsFor?.split(" ")[1] ?? "";
  const ref = { tenant: TENANT, session: "s-user" };
  await decideApproval(backend, ref, { key, decision: "approve", userId: "an" });
  await until("s-user", /^The turn has ended/);
});

test("an agent that no worker has: its name; a worker that has it answers", { timeout: 60_000 }, async () => {
  await work("clerk", "waiter");
  await workers.pop()?.shutdown();
  // The newest worker no longer has the agent that an earlier one registered.
  await new Promise((resolve) => setTimeout(resolve, 1_200));
  await work("waiter");
  await send("s-agent", { agent: "clerk" });
  const report = await until(
    "s-agent",
    /^The message needs the agent clerk, which the newest worker doesn't have\.$/,
  );
  expect(report).toMatchObject({ state: "queued", agent: "clerk" });
  await work("clerk");
  await until("s-agent", /^The turn has ended \(end_turn\)\.$/);
  expect(await turns("retry", "s-agent")).toMatchObject({
    code: 1,
    err: expect.stringContaining("can't be retried"),
  });
});

test("Redis is down: the report still names the reason", { timeout: 60_000 }, async () => {
  await work("seller");
  await send("s-down");
  await until("s-down", /^The turn has waited/);
  const { code, out } = await ran(["turns", "show", "s-down", "--tenant", TENANT], {
    DATABASE_URL: databaseUrl,
    REDIS_URL: "redis://:canary@127.0.0.1:1",
  });
  expect(code).toBe(0);
  expect(out).toContain("Nothing listens at 127.0.0.1:1, so the worker can't write events.");
  expect(out).not.toContain("canary");
  await turns("stop", "s-down");
  await until("s-down", /stopped/);
  const ended = await ran(["turns", "show", "s-down", "--tenant", TENANT], {
    DATABASE_URL: databaseUrl,
    REDIS_URL: "redis://127.0.0.1:1",
  });
  expect(ended.out).toContain("Nothing listens at 127.0.0.1:1, so the events of the session can't be read.");
});

test.each(["native", "blocks", "tasks", "responses"])(
  "tail prints an answer in %s until the session is idle",
  { timeout: 60_000 },
  async (dialect) => {
    const session = `s-tail-${dialect}`;
    await send(session);
    const tail = await startTail(session, "--until-idle", "--json", "--dialect", dialect);
    await work("clerk");
    const ended = await tail.result;
    expect(ended?.code).toBe(0);
    const frames = ended?.out.split("\n").flatMap((line) => (line ? [JSON.parse(line) as unknown] : []));
    expect(JSON.stringify(frames)).toContain("Hell");
    if (dialect === "native") expect(frames?.at(-1)).toMatchObject({ type: "turn.end", reason: "end_turn" });
  },
);

test("tail ends with Ctrl-C and exit code 0, and refuses an unknown session", async () => {
  await send("s-open");
  const tail = await startTail("s-open");
  tail.stop();
  expect(await tail.result).toMatchObject({ code: 0, out: "" });
  expect(tail.firstNotice).toBe("Following session s-open. Ctrl-C ends it.\n");
  expect(await turnstream("tail", "s-nowhere", "--tenant", TENANT)).toMatchObject({ code: 1, out: "" });
});

test("wrong arguments are misuse, and unknown ids are failures", async () => {
  for (const args of [["list", "--state", "done"], ["list", "--limit", "0"], ["show"], ["stop", "a", "b"]])
    expect(await turns(...args)).toMatchObject({ code: 2, out: "" });
  expect(await turnstream("turns", "list")).toMatchObject({
    code: 1,
    err: "turnstream: There is no tenant default. Correct `--tenant`, or create it with `turnstream keys create --new-tenant`.\n",
  });
  expect(await turns("show", "nowhere")).toMatchObject({
    code: 1,
    err: expect.stringContaining("no session nowhere"),
  });
  expect(await turnstream("tail", "x", "--dialect", "morse")).toMatchObject({ code: 2 });
});
