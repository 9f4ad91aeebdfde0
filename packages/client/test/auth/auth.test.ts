/** Tests how credentials are requested, cached and renewed, how requests use them, and how a token names the user. */
import { describe, expect, test } from "vitest";
import { createAuth, credentialHeaders } from "../../src/auth/auth.ts";
import { readClaims } from "../../src/auth/claims.ts";
import { createIdentity } from "../../src/auth/identity.ts";
import { createEnv } from "../../src/env.ts";
import { ClientError } from "../../src/errors.ts";
import { createApi } from "../../src/http/api.ts";
import { FakePageEnv } from "../live/fast-env.ts";

function tokenOf(claims: object): string {
  const parts = [{ alg: "HS256" }, claims].map((part) =>
    Buffer.from(JSON.stringify(part)).toString("base64url"),
  );
  return `${parts.join(".")}.signature`;
}

describe("createAuth", () => {
  test("requests credentials once for concurrent callers, and caches them", async () => {
    let asked = 0;
    const auth = createAuth(async () => ({ token: `t${++asked}` }), { now: () => 0 });
    expect(await Promise.all([auth.get(), auth.get(), auth.get()])).toEqual([
      { token: "t1" },
      { token: "t1" },
      { token: "t1" },
    ]);
    expect(await auth.get()).toEqual({ token: "t1" });
    expect(asked).toBe(1);
  });

  test("requests new credentials after a rejection, and ignores a late rejection of older ones", async () => {
    let asked = 0;
    const auth = createAuth(() => ({ token: `t${++asked}` }), { now: () => 0 });
    const first = await auth.get();
    auth.reject(first);
    expect(await auth.get()).toEqual({ token: "t2" });
    // A caller reports late that the first credentials were rejected.
    auth.reject(first);
    expect(await auth.get()).toEqual({ token: "t2" });
  });

  test("requests new credentials shortly before they expire, even if the local clock is wrong", async () => {
    let now = 5;
    let asked = 0;
    const auth = createAuth(() => ({ token: tokenOf({ iat: 2_000_000, exp: 2_000_900, n: ++asked }) }), {
      now: () => now,
    });
    await auth.get();
    now = 869_000;
    await auth.get();
    expect(asked).toBe(1);
    now = 871_000;
    await auth.get();
    expect(asked).toBe(2);
  });

  test("requests credentials again if the app doesn't respond, and then ignores the late response", async () => {
    let now = 0;
    const answers: ((token: string) => void)[] = [];
    const ask = () =>
      new Promise<{ token: string }>((resolve) => answers.push((token) => resolve({ token })));
    const auth = createAuth(ask, { now: () => now });
    const first = auth.get();
    now = 29_999;
    expect(auth.get()).toBe(first);
    now = 30_000;
    const second = auth.get();
    answers[1]?.("second");
    expect(await second).toEqual({ token: "second" });
    answers[0]?.("first");
    await first;
    expect(await auth.get()).toEqual({ token: "second" });
    expect(answers.length).toBe(2);
  });

  test.for([
    [new ClientError("UNAUTHENTICATED", "signed out"), "UNAUTHENTICATED", false],
    [new TypeError("Failed to fetch"), "OFFLINE", true],
    // The app parsed the HTML page of a 502 response as JSON.
    [new SyntaxError("Unexpected token '<'"), "OFFLINE", true],
    [new Error("The app answered with 500."), "OFFLINE", true],
    ["no", "OFFLINE", true],
    [new ClientError("RATE_LIMITED", "later", { canRetry: true }), "RATE_LIMITED", true],
  ] as const)("rejects if the app throws: %s becomes %s", async ([error, code, canRetry]) => {
    const auth = createAuth(() => Promise.reject(error), { now: () => 0 });
    await expect(auth.get()).rejects.toMatchObject({ code, canRetry });
  });

  test.for([null, { error: "out of order" }, { token: undefined }, { token: "" }])(
    "doesn't cache an invalid result of the app: %o",
    async (none) => {
      let given: unknown = none;
      const auth = createAuth(() => given as { token: string }, { now: () => 0 });
      await expect(auth.get()).rejects.toMatchObject({ code: "OFFLINE", canRetry: true });
      given = { token: "t" };
      expect(await auth.get()).toEqual({ token: "t" });
    },
  );

  test("credentialHeaders returns the headers of a request", () => {
    expect(credentialHeaders({ token: "t" })).toEqual({ authorization: "Bearer t" });
    expect(credentialHeaders({ headers: { "x-api-key": "k" } })).toEqual({ "x-api-key": "k" });
  });
});

const { now, setTimer } = createEnv();

const answers = (statuses: number[], seen: string[]) => ({
  page: new FakePageEnv(),
  now,
  setTimer,
  fetch: (async (_: unknown, init?: RequestInit) => {
    seen.push(new Headers(init?.headers).get("authorization") ?? "");
    return Response.json({ error: "UNAUTHENTICATED" }, { status: statuses.shift() ?? 500 });
  }) as typeof fetch,
});

describe("createApi", () => {
  test("requests new credentials once if a request is unauthenticated", async () => {
    let asked = 0;
    const auth = createAuth(() => ({ token: `t${++asked}` }), { now: () => 0 });
    const seen: string[] = [];
    const api = createApi({ url: "http://s/", auth, env: answers([401, 200], seen) });
    expect((await api.request("/x")).status).toBe(200);
    const again = createApi({ url: "http://s", auth, env: answers([401, 401], seen) });
    await expect(again.json("/x")).rejects.toMatchObject({ code: "UNAUTHENTICATED" });
    expect(seen).toEqual(["Bearer t1", "Bearer t2", "Bearer t2", "Bearer t3"]);
  });

  test("turns a proxy's HTML response into a ClientError with a code", async () => {
    const auth = createAuth(() => ({ token: "t" }), { now: () => 0 });
    const page = new Response("<html>", { status: 503, headers: { "retry-after": "7" } });
    const env = {
      page: new FakePageEnv(),
      now,
      setTimer,
      fetch: (() => Promise.resolve(page)) as typeof fetch,
    };
    const api = createApi({ url: "http://s", auth, env });
    await expect(api.json("/x")).rejects.toMatchObject({
      code: "SERVER_ERROR",
      canRetry: true,
      retryAfterSeconds: 7,
    });
  });

  test("limits retry-after to one day, because timers can't wait for a month", async () => {
    const auth = createAuth(() => ({ token: "t" }), { now: () => 0 });
    const page = new Response("<html>", { status: 503, headers: { "retry-after": "2592000" } });
    const env = {
      page: new FakePageEnv(),
      now,
      setTimer,
      fetch: (() => Promise.resolve(page)) as typeof fetch,
    };
    const api = createApi({ url: "http://s", auth, env });
    await expect(api.json("/x")).rejects.toMatchObject({ retryAfterSeconds: 86_400 });
  });

  test.for([
    ["GET", true, "OFFLINE"],
    ["POST", true, "UNSURE"],
    ["POST", false, "OFFLINE"],
  ] as const)("%s without a response (online: %s) fails with %s", async ([method, isOnline, code]) => {
    const page = new FakePageEnv();
    page.become({ isOnline });
    const auth = createAuth(() => ({ token: "t" }), { now: () => 0 });
    const env = { page, now, setTimer, fetch: (() => Promise.reject(new TypeError("no"))) as typeof fetch };
    await expect(createApi({ url: "http://s", auth, env }).request("/x", { method })).rejects.toMatchObject({
      code,
      canRetry: true,
    });
  });

  test.for([
    ["GET", "OFFLINE"],
    ["POST", "UNSURE"],
  ] as const)("%s without a response for a minute fails with %s", async ([method, code]) => {
    const auth = createAuth(() => ({ token: "t" }), { now: () => 0 });
    let giveUp: (() => void) | undefined;
    const env = {
      page: new FakePageEnv(),
      now,
      setTimer: (run: () => void, ms: number) => {
        expect(ms).toBe(60_000);
        giveUp = run;
        return () => {};
      },
      fetch: ((_: unknown, init?: RequestInit) =>
        new Promise((_resolve, reject) => {
          init?.signal?.addEventListener("abort", () => reject(init.signal?.reason as Error));
        })) as typeof fetch,
    };
    const asked = createApi({ url: "http://s", auth, env }).json("/x", { method });
    // The request starts once the credentials are there.
    setImmediate(() => giveUp?.());
    await expect(asked).rejects.toMatchObject({ code, canRetry: true });
  });
});

describe("tokens", () => {
  test("readClaims returns the tenant and the user, or nulls for an unreadable token", () => {
    const token = tokenOf({ tenant: "acme", sub: "Ân", iat: 10, exp: 70 });
    expect(readClaims(token)).toEqual({ tenant: "acme", sub: "Ân", lifeMs: 60_000 });
    const nothing = { tenant: null, sub: null, lifeMs: null };
    for (const bad of ["", "a.b", "a.%%.c", `a.${btoa("[]")}.c`, `a.${btoa("null")}.c`])
      expect(readClaims(bad)).toEqual(nothing);
  });

  test("createIdentity takes the user from the token and remembers it until the next token", () => {
    const stored = new Map<string, string>();
    const storage = {
      getItem: (key: string) => stored.get(key) ?? null,
      setItem: (key: string, value: string) => void stored.set(key, value),
      removeItem: (key: string) => void stored.delete(key),
      key: () => null,
      length: 0,
    };
    const first = createIdentity("http://s", storage);
    expect(first.name).toBeNull();
    let changes = 0;
    first.onChange(() => changes++);
    first.update({ token: tokenOf({ tenant: "acme", sub: "an" }) });
    first.update({ token: tokenOf({ tenant: "acme", sub: "an", n: 2 }) });
    expect([first.name, changes]).toEqual(["acme/an", 1]);
    expect(createIdentity("http://s", storage).name).toBe("acme/an");
    expect(createIdentity("http://other", storage).name).toBeNull();
    expect(JSON.stringify([...stored])).not.toContain("signature");
  });
});
