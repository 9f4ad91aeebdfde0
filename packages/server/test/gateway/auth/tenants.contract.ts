/**
 * The contract of tenant isolation (promise 19): every route refuses every caller that must not have access. The
 * requests are derived from the route table, so that a new route can't be missed.
 */
import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { socketCommands } from "@turnstream/protocol/schema";
import { WebSocket } from "ws";
import { SCOPES } from "../../../src/gateway/auth/access.ts";
import { ROUTES } from "../../../src/gateway/http/routes/index.ts";
import { signToken, type TokenClaims } from "../../../src/gateway/auth/tokens.ts";
import type { HarnessBackend } from "../../runtime/turn-harness.ts";
import { openServer, type TestServer, type TestResponse } from "../test-server.ts";

const CANARY = "canary-7d1f";

export function tenantsContract(name: string, makeParts?: () => Promise<HarnessBackend>): void {
  describe(`${name}: tenant isolation`, () => {
    let server: TestServer;
    let parts: HarnessBackend | undefined;
    let session: { id: string; number: number };
    let foreign: Record<string, string>;
    const strangers: Record<string, Record<string, string>> = {};

    beforeAll(async () => {
      parts = await makeParts?.();
      // One address fails hundreds of sign-ins here.
      server = await openServer(parts, { callerLimits: { address: { failedSignInsPerMinute: null } } });
      const { store } = server.backend;
      const { tenant, user } = server.actor;
      const made = await server.request("POST", "/sessions", { body: { title: CANARY } });
      session = { id: made.json.session_id, number: made.json.chat_id };
      const ref = { tenant, session: session.id };
      await store.memories.save(server.actor, { id: "m", text: CANARY });
      await store.knowledge.put(tenant, "base", { id: "o", title: CANARY, text: CANARY });
      await store.blobs.put(ref, { id: "b", mediaType: "text/plain", body: Buffer.from(CANARY) });
      await server.request("POST", `/sessions/${session.id}/shares`, { body: {} });

      const other = `tenant-${randomUUID()}`;
      await store.tenants.create({ id: other, name: "Other" });
      const keyOf = async (of: string, scopes: string[] = []) => {
        const { key, secret } = await store.keys.create(of, { name: "k", scopes });
        return { id: key.id, secret };
      };
      // The same user name in another tenant is another user.
      foreign = { "x-api-key": (await keyOf(other)).secret, "x-user-id": user };
      const revoked = await keyOf(tenant);
      await store.keys.revoke(tenant, revoked.id);
      const now = Date.now();
      const grant: TokenClaims = { tenant, user, key: null, scopes: ["read"], expiresAt: now + 60_000 };
      const [secret] = server.secrets;
      const bearer = async (change: Partial<TokenClaims>, by = secret, at = now) => ({
        authorization: `Bearer ${await signToken({ ...grant, ...change }, by, at)}`,
      });
      const good = await bearer({});
      Object.assign(strangers, {
        "no credentials": {},
        "a made-up key": { "x-api-key": `ts_${"0".repeat(24)}_${"A".repeat(43)}`, "x-user-id": user },
        "a revoked key": { "x-api-key": revoked.secret, "x-user-id": user },
        "half a key": { "x-api-key": server.key.secret.slice(0, -1), "x-user-id": user },
        "a key where a token belongs": { authorization: `Bearer ${server.key.secret}` },
        "a key and a token": { ...server.auth, ...good },
        "an expired token": await bearer({ expiresAt: now - 1_000 }),
        "a token of another secret": await bearer({}, "x".repeat(32)),
        "a changed token": { authorization: `${good.authorization.slice(0, -2)}xx` },
        "a token of a revoked key": await bearer({ key: revoked.id }),
        "an unsigned token": { authorization: `Bearer ${unsigned({ sub: user, tenant, exp: now })}` },
        "a token without scopes": await bearer({ scopes: [] }),
        "a token that may only make tokens": await bearer({ scopes: ["tokens"] }),
        "basic credentials": { authorization: `Basic ${Buffer.from(`${user}:x`).toString("base64")}` },
      });
    });
    afterAll(async () => {
      await server.close();
      await parts?.signals.close();
      await parts?.log.close();
      await parts?.store.close();
    });

    const withCaller = ROUTES.filter(({ scope }) => scope !== null);
    const ofSessions = withCaller.filter(({ path }) => path.includes("{session}"));

    test("covers the route table, and the owner has access", async () => {
      expect(withCaller.length).toBeGreaterThan(25);
      expect(ofSessions.length).toBeGreaterThan(15);
      expect(
        ROUTES.filter(({ scope }) => scope === null)
          .map(({ path }) => path)
          .toSorted(),
      ).toEqual([
        "/blobs/{token}",
        "/payments/checkout/{token}",
        "/payments/checkout/{token}",
        "/payments/notify/{provider}",
        "/payments/return/{token}",
        "/payments/return/{token}",
        "/payments/status/{token}",
        "/shares/{token}",
        "/sign-in",
      ]);
      const simple = ofSessions.filter(
        ({ method, path }) => method === "GET" && !/\{(?!session)/.test(path) && !path.endsWith("/events"),
      );
      expect(simple.length).toBeGreaterThan(5);
      for (const { path } of simple)
        for (const one of [...pathsOf(path, session.id), ...pathsOf(path, session.number)])
          expect((await server.request("GET", one)).status, one).toBe(200);
    });

    test("refuses unauthenticated callers on every route", async () => {
      const missed: string[] = [];
      for (const [who, headers] of Object.entries(strangers))
        for (const { method, path } of withCaller) {
          const response = await server.request(method, pathsOf(path, session.id)[0] ?? "", { headers });
          if (response.status !== 401 || response.json?.error !== "UNAUTHENTICATED")
            missed.push(`${who}: ${method} ${path}: ${response.status}`);
        }
      expect(Object.keys(strangers).length).toBeGreaterThan(10);
      expect(missed).toEqual([]);
    });

    test("responds to a session of another user as to a missing one", async () => {
      const missed: string[] = [];
      const guest = { ...server.auth, "x-user-id": "guest" };
      const ask = (method: string, path: string, headers: Record<string, string>) =>
        server.request(method, path, method === "GET" ? { headers } : { headers, body: {} });
      for (const headers of [foreign, guest])
        for (const { method, path } of ofSessions) {
          const nowhere = plain(await ask(method, pathsOf(path, "nowhere")[0] ?? "", headers));
          expect(nowhere).toContain("NOT_FOUND");
          for (const one of [...pathsOf(path, session.id), ...pathsOf(path, session.number)])
            if (plain(await ask(method, one, headers)) !== nowhere) missed.push(`${method} ${one}`);
        }
      expect(missed).toEqual([]);
      expect((await server.request("GET", `/sessions/${session.id}`)).json.title).toBe(CANARY);
    });

    test("shows no data of others on routes without a session", async () => {
      for (const { method, path } of withCaller.filter((route) => !route.path.includes("{session}")))
        for (const one of pathsOf(path.replace("{base}", "base").replace("{object}", "o"), ""))
          expect((await server.request(method, one, { headers: foreign })).text, one).not.toContain(CANARY);
      expect((await server.request("GET", "/sessions")).text).toContain(CANARY);
      expect((await server.request("GET", "/memories")).text).toContain(CANARY);
    });

    test("enforces the scopes of a key on every route", async () => {
      const { store } = server.backend;
      const missed: string[] = [];
      for (const action of SCOPES) {
        const scopes = SCOPES.filter((one) => one !== action);
        const { secret } = await store.keys.create(server.actor.tenant, { name: "few", scopes });
        const headers = { "x-api-key": secret, "x-user-id": server.actor.user };
        for (const route of withCaller) {
          const { method, path } = route;
          // Routes with side effects are requested only if they must refuse.
          if (route.scope !== action && (method !== "GET" || path.endsWith("/events"))) continue;
          const response = await server.request(method, pathsOf(path, session.id)[0] ?? "", { headers });
          if ((response.status === 403) !== (route.scope === action))
            missed.push(`${action}: ${method} ${path}`);
        }
      }
      expect(missed).toEqual([]);
    });

    test("accepts only links that the gateway signed for this purpose", async () => {
      const shares = await server.request("GET", `/sessions/${session.id}/shares`);
      const { token } = shares.json.shares[0];
      const ticket = (await server.request("POST", "/tickets", { body: {} })).json.ticket;
      for (const path of [
        `/blobs/${token}`,
        `/blobs/${ticket}`,
        `/shares/${ticket}`,
        "/blobs/x",
        "/shares/x",
      ])
        expect([400, 404], path).toContain((await server.request("GET", path, { headers: {} })).status);
      expect((await server.request("GET", `/shares/${token}`, { headers: {} })).text).toContain(CANARY);
      // The link gives no write access and no access to another tenant.
      const fork = (headers: Record<string, string>) =>
        server.request("POST", `/shares/${token}/fork`, { headers, body: {} });
      expect((await fork({})).status).toBe(401);
      expect((await fork(foreign)).status).toBe(404);
      const blob = await server.request("GET", `/sessions/${session.id}/shares`, {
        headers: { "x-api-key": token },
      });
      expect(blob.status).toBe(401);
    });

    test("issues a token for one user, to keys only, with at most the scopes of its key", async () => {
      const made = await server.request("POST", "/tokens", { body: { user_id: server.actor.user } });
      expect(made.json.scopes).toEqual(["read", "write", "decide", "share"]);
      const headers = { authorization: `Bearer ${made.json.token}` };
      expect((await server.request("GET", `/sessions/${session.id}`, { headers })).json.title).toBe(CANARY);
      const more = await server.request("POST", "/tokens", { headers, body: { user_id: "boss" } });
      expect(more.status).toBe(403);
      // An additional user header has no effect.
      const named = { ...headers, "x-user-id": "guest" };
      expect((await server.request("GET", `/sessions/${session.id}`, { headers: named })).status).toBe(200);
      const { secret } = await server.backend.store.keys.create(server.actor.tenant, {
        name: "few",
        scopes: ["tokens", "read"],
      });
      const few = { "x-api-key": secret };
      const wide = await server.request("POST", "/tokens", {
        headers: few,
        body: { user_id: "u", scopes: ["write"] },
      });
      expect(wide.status).toBe(403);
      const narrow = await server.request("POST", "/tokens", { headers: few, body: { user_id: "u" } });
      expect(narrow.json.scopes).toEqual(["read"]);
      for (const body of [
        {},
        { user_id: "" },
        { user_id: "u", scopes: [] },
        { user_id: "u", scopes: ["tokens"] },
      ])
        expect((await server.request("POST", "/tokens", { body })).status).toBe(400);
    });

    test("refuses every command of every other caller over a socket", async () => {
      const guest = { ...server.auth, "x-user-id": "guest" };
      for (const headers of [foreign, guest]) {
        const answers = await commandsOf(server.url, headers, session.id);
        expect(answers).toHaveLength(Object.keys(socketCommands).length - 2);
        for (const one of answers) expect(one).toMatchObject({ type: "error", error: "NOT_FOUND" });
        expect(JSON.stringify(answers)).not.toContain(CANARY);
      }
      for (const headers of Object.values(strangers)) expect(await statusOf(server.url, headers)).toBe(401);
    });
  });
}

/** Returns the replies to one valid command of each kind, except for `unsubscribe` and `ping`, which show no data. */
async function commandsOf(
  url: string,
  headers: Record<string, string>,
  session_id: string,
): Promise<object[]> {
  const socket = new WebSocket(`${url.replace("http", "ws")}/api/v1/socket`, { headers });
  await new Promise((resolve, reject) => socket.once("open", resolve).once("error", reject));
  const answers: object[] = [];
  const all = commands(session_id);
  await new Promise<void>((resolve) => {
    socket.on("message", (data: Buffer) => {
      answers.push(JSON.parse(data.toString()) as object);
      if (answers.length === all.length) resolve();
    });
    for (const command of all) socket.send(JSON.stringify(command));
    setTimeout(resolve, 30_000);
  });
  socket.terminate();
  return answers;
}

function commands(session_id: string): object[] {
  const [approval_key, form_request_id, payment_request_id] = ["k", "f", "p"];
  return [
    { type: "subscribe", session_id },
    { type: "send", session_id, client_message_id: "m", text: "hi" },
    { type: "stop", session_id },
    { type: "decide", session_id, approval_key, decision: "approve" },
    { type: "answer", session_id, approval_key, answers: [{ question: "q", selected: [] }] },
    { type: "dismiss", session_id, approval_key },
    { type: "submit", session_id, form_request_id, values: {} },
    { type: "decline", session_id, form_request_id },
    { type: "cancel_payment", session_id, payment_request_id },
    { type: "refresh_payment", session_id, payment_request_id },
  ];
}

/** Returns the HTTP status of an upgrade. */
async function statusOf(url: string, headers: Record<string, string>): Promise<number> {
  const socket = new WebSocket(`${url.replace("http", "ws")}/api/v1/socket`, { headers });
  return new Promise((resolve) => {
    socket.once("unexpected-response", (request, response) => {
      resolve(response.statusCode ?? 0);
      request.destroy();
    });
    socket.once("open", () => {
      resolve(101);
      socket.terminate();
    });
    socket.on("error", () => undefined);
  });
}

function unsigned(claims: object): string {
  return `${encoded({ alg: "none", typ: "JWT" })}.${encoded(claims)}.`;
}

function encoded(value: object): string {
  return Buffer.from(JSON.stringify(value)).toString("base64url");
}

/** Every notation of a route's path. */
function pathsOf(path: string, of: string | number): string[] {
  const filled = path.replace("{session}", String(of)).replaceAll(/\{\w+\}/g, "x");
  return filled.startsWith("/sessions") ? [filled, filled.replace("/sessions", "/chats")] : [filled];
}

function plain({ status, text }: TestResponse): string {
  return `${status} ${text}`;
}
