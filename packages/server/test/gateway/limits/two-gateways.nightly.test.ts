/**
 * Limits with two gateway processes on PostgreSQL and Redis: concurrent callers exceed a limit of N by at most
 * max(1, 1 %), each counts its own connections, and without Redis each gateway applies the limits alone.
 */
import { randomUUID } from "node:crypto";
import { GatewayProgram, type GatewaySettings } from "@turnstream/testkit/gateway/gateway-program.ts";
import { migratedDatabaseUrl } from "@turnstream/testkit/backend/migrated-database-url.ts";
import { openBackend, type TestBackend } from "@turnstream/testkit/backend/open-backend.ts";
import { freshPrefix, sharedRedisUrl } from "@turnstream/testkit/servers/shared-servers.ts";
import { type RedisServer, startRedis } from "@turnstream/testkit/servers/start-redis.ts";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { WebSocket } from "ws";
import type { LimitTarget, LimitValues } from "../../../src/store/rules/limits.ts";

const SECRETS: [string] = [randomUUID() + randomUUID()];

interface Setup {
  readonly settings: GatewaySettings;
  readonly gateways: GatewayProgram[];
  readonly backend: TestBackend;
}

async function start(redisUrl: string, keyPrefix: string): Promise<Setup> {
  const databaseUrl = await migratedDatabaseUrl();
  const settings: GatewaySettings = {
    secrets: SECRETS,
    backend: { databaseUrl, redisUrl, keyPrefix, database: { max: 5 } },
    trustProxy: true,
    callerLimits: {
      key: { requestsPerMinute: 150, sockets: 15, runningTurns: 12, queuedMessages: 14, storedBytes: 7_000 },
      address: { failedSignInsPerMinute: 20, requestsPerMinute: 40 },
    },
  };
  const gateways = await Promise.all([GatewayProgram.launch(settings), GatewayProgram.launch(settings)]);
  return { settings, gateways, backend: await openBackend({ databaseUrl, redisUrl, keyPrefix }) };
}

async function stop({ gateways, backend }: Setup): Promise<void> {
  await Promise.all(gateways.map((gateway) => gateway.kill()));
  await backend.close();
}

/** A tenant of its own with a key, its limits, and a way to send requests to both gateways in turn. */
class Caller {
  readonly tenant = `tenant-${randomUUID()}`;
  readonly user = `user-${randomUUID()}`;
  readonly #setup: Setup;
  #secret = "";
  #n = 0;

  constructor(setup: Setup) {
    this.#setup = setup;
  }

  async open(target: LimitTarget["scope"], limits: LimitValues): Promise<this> {
    const { store } = this.#setup.backend;
    await store.tenants.create({ id: this.tenant, name: "Test" });
    const { secret } = await store.keys.create(this.tenant, { name: "test", scopes: [] });
    this.#secret = secret;
    const of: LimitTarget = target === "tenant" ? { scope: target } : { scope: target, user: this.user };
    await store.limits.replace(this.tenant, of, "operator", limits);
    return this;
  }

  get headers(): Record<string, string> {
    return { "x-api-key": this.#secret, "x-user-id": this.user };
  }

  /** The next gateway. */
  get url(): string {
    const { gateways } = this.#setup;
    return gateways[this.#n++ % gateways.length]?.url ?? "";
  }

  request(path: string, init: RequestInit = {}): Promise<Response> {
    const headers = { ...this.headers, "content-type": "application/json" };
    return fetch(`${this.url}/api/v1${path}`, { headers, ...init });
  }

  async session(): Promise<string> {
    const session = `s-${randomUUID()}`;
    await this.#setup.backend.store.sessions.create(
      { tenant: this.tenant, user: this.user },
      { id: session, firstEpoch: 1 },
    );
    return session;
  }

  /** Opens a socket. @returns null if it was refused with 429 */
  connect(): Promise<WebSocket | null> {
    return new Promise((resolve, reject) => {
      const address = `${this.url.replace("http", "ws")}/api/v1/socket`;
      const socket = new WebSocket(address, { headers: this.headers });
      socket.on("open", () => resolve(socket));
      socket.on("error", reject);
      socket.on("unexpected-response", (_request, response) => {
        if (response.statusCode === 429) resolve(null);
        else reject(new Error(`status ${response.statusCode}`));
        response.destroy();
      });
    });
  }
}

/** Runs that many calls at once and returns how many were accepted. */
async function accepted(calls: number, call: (n: number) => Promise<boolean>): Promise<number> {
  const results = await Promise.all(Array.from({ length: calls }, (_, n) => call(n)));
  return results.filter(Boolean).length;
}

/** Exactly at the limit, or beyond it by at most one or 1 %. */
function expectWithin(count: number, limit: number): void {
  expect(count).toBeGreaterThanOrEqual(limit);
  expect(count).toBeLessThanOrEqual(limit + Math.max(1, Math.floor(limit / 100)));
}

async function isAccepted(response: Response, refusal = 429): Promise<boolean> {
  await response.body?.cancel();
  if (response.status === refusal) expect(response.headers.get("retry-after")).toMatch(/^[1-9]\d*$/);
  else expect(response.status).toBeLessThan(300);
  return response.status !== refusal;
}

const send = async (one: Caller, session: string, n: number) =>
  isAccepted(
    await one.request(`/sessions/${session}/messages`, {
      method: "POST",
      body: JSON.stringify({ text: "hi", stream: true, client_message_id: `m${n}` }),
    }),
  );

describe("two gateways", () => {
  let setup: Setup;
  beforeAll(async () => {
    setup = await start(sharedRedisUrl(), freshPrefix());
  });
  afterAll(() => stop(setup));

  const caller = (target: LimitTarget["scope"], limits: LimitValues) =>
    new Caller(setup).open(target, limits);

  const scopes = ["user", "tenant", "key"] as const;
  /** Limits of a key are set in code, so they apply to every test. */
  const callerOf = (scope: (typeof scopes)[number], limits: LimitValues) =>
    scope === "key" ? caller("user", {}) : caller(scope, limits);

  test.for(["user", "tenant"] as const)("count the requests of a %s together", async (scope) => {
    const one = await caller(scope, { requestsPerMinute: 50 });
    expectWithin(await accepted(120, async () => isAccepted(await one.request("/limits"))), 50);
  });

  test("count the requests of an API key together", async () => {
    const one = await caller("user", {});
    expectWithin(await accepted(220, async () => isAccepted(await one.request("/limits"))), 150);
  });

  test("count requests and failed sign-ins of an address together", async () => {
    const one = await caller("user", {});
    const ask = async (path: string, init: RequestInit, expected: number) => {
      const { status } = await one.request(path, init);
      expect([expected, 429]).toContain(status);
      return status === expected;
    };
    const guess = { headers: { "x-api-key": "ts_wrong", "x-forwarded-for": "192.0.2.1" } };
    expectWithin(await accepted(60, () => ask("/limits", guess, 401)), 20);
    const signIn = { method: "POST", headers: { "x-forwarded-for": "192.0.2.2" } };
    expectWithin(await accepted(100, () => ask("/sign-in", signIn, 404)), 40);
  });

  test.for(scopes)("count the sockets of a %s alone", async (scope) => {
    const limit = scope === "key" ? 15 : 10;
    const one = await callerOf(scope, { sockets: limit });
    const sockets = await Promise.all(Array.from({ length: 40 }, () => one.connect()));
    const opened = sockets.filter((socket) => socket !== null);
    expect(opened.length).toBe(2 * limit);
    for (const socket of opened) socket.terminate();
    // A closed socket no longer counts.
    await expect
      .poll(async () => {
        const socket = await one.connect();
        socket?.terminate();
        return socket !== null;
      })
      .toBe(true);
  });

  test("count the streams of a user alone", async () => {
    const one = await caller("user", { streams: 10 });
    const session = await one.session();
    const leave = new AbortController();
    const open = async () => {
      const { status } = await one.request(`/sessions/${session}/events`, { signal: leave.signal });
      expect([200, 429]).toContain(status);
      return status === 200;
    };
    expect(await accepted(30, open)).toBe(20);
    leave.abort();
  });

  test("count the subscriptions of a user alone", async () => {
    const one = await caller("user", { subscriptions: 10 });
    const sockets = [await one.connect(), await one.connect()];
    const sessions = await Promise.all(Array.from({ length: 30 }, () => one.session()));
    const replies: { type: string; details?: { limit: string } }[] = [];
    for (const socket of sockets)
      socket?.on("message", (data: Buffer) => {
        const reply = JSON.parse(data.toString()) as (typeof replies)[number];
        if (reply.type === "subscribed" || reply.type === "error") replies.push(reply);
      });
    sessions.forEach((session_id, n) =>
      sockets[n % 2]?.send(JSON.stringify({ type: "subscribe", session_id })),
    );
    await expect.poll(() => replies.length).toBe(30);
    expect(replies.filter(({ type }) => type === "subscribed")).toHaveLength(20);
    for (const { type, details } of replies)
      if (type === "error") expect(details?.limit).toBe("subscriptions");
    for (const socket of sockets) socket?.terminate();
  });

  test.for(scopes)("count the turns of a %s together", async (scope) => {
    const one = await callerOf(scope, { runningTurns: 7 });
    const sessions = await Promise.all(Array.from({ length: 30 }, () => one.session()));
    expect(await accepted(30, (n) => send(one, sessions[n] ?? "", n))).toBe(scope === "key" ? 12 : 7);
  });

  test.for(scopes)("count the queued messages of a %s together", async (scope) => {
    const one = await callerOf(scope, { queuedMessages: 9 });
    const sessions = [await one.session(), await one.session()];
    const count = await accepted(30, (n) => send(one, sessions[n % 2] ?? "", n));
    expect(count).toBe(scope === "key" ? 14 : 9);
  });

  test.for(scopes)("count the stored bytes of a %s together", async (scope) => {
    const one = await callerOf(scope, { storedBytes: 5_000 });
    const sessions = await Promise.all(Array.from({ length: 12 }, () => one.session()));
    const upload = async (n: number) =>
      isAccepted(
        await one.request(`/sessions/${sessions[n]}/files?name=f`, {
          method: "POST",
          body: "x".repeat(1_000),
        }),
        413,
      );
    expect(await accepted(12, upload)).toBe(scope === "key" ? 7 : 5);
  });

  test.for([{ tokensPerDay: 300 }, { tokensPerMonth: 300 }, { costPerDay: 1.5 }, { costPerMonth: 1.5 }])(
    "start no turn once a user has used %o",
    async (limits) => {
      const one = await caller("user", limits);
      const use = (n: number) =>
        setup.backend.store.usage.add(one.tenant, {
          key: `turn-${n}`,
          user: one.user,
          turns: 1,
          calls: 1,
          input_tokens: 50,
          output_tokens: 50,
          total_tokens: 100,
          cost: 0.5,
        });
      await Promise.all([use(0), use(1)]);
      const sessions = await Promise.all(Array.from({ length: 10 }, () => one.session()));
      expect(await accepted(2, (n) => send(one, sessions[n] ?? "", n))).toBe(2);
      await use(2);
      expect(await accepted(10, (n) => send(one, sessions[n] ?? "", 10 + n))).toBe(0);
    },
  );
});

describe("without Redis", () => {
  let redis: RedisServer;
  let setup: Setup;
  beforeAll(async () => {
    redis = await startRedis();
    setup = await start(redis.url, "ts");
  });
  afterAll(async () => {
    await stop(setup);
    await redis.stop();
  });

  test("each gateway applies the limits alone and serves requests, and both count together afterwards", async () => {
    const one = await new Caller(setup).open("user", { requestsPerMinute: 20, sockets: 3 });
    const first = await one.connect();
    await redis.kill();
    expect((await one.request("/limits")).status).toBe(200);
    const served = await accepted(100, async () => isAccepted(await one.request("/limits")));
    expect(served).toBeGreaterThanOrEqual(20);
    expect(served).toBeLessThanOrEqual(2 * 20);
    await redis.restart();
    // The gateway sends its count again, although Redis has lost it.
    const two = await new Caller(setup).open("user", { requestsPerMinute: 30 });
    await expect
      .poll(async () => accepted(4, async () => isAccepted(await two.request("/limits"))), {
        timeout: 20_000,
      })
      .toBe(4);
    first?.terminate();
  });
});
