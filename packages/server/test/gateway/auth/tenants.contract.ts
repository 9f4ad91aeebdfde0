/**
 * The contract of tenant isolation (promise 19): every route and every command refuses every caller that must not have
 * access, over HTTP, event streams and sockets. access-matrix.ts lists them all with the expected access.
 */
import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { knowledgeOf } from "@turnstream/knowledge";
import { socketCommands } from "../../../../protocol/src/commands/socket.ts";
import { WebSocket } from "ws";
import type { Scope } from "../../../src/gateway/auth/access.ts";
import type { Route } from "../../../src/gateway/http/route.ts";
import { ALL_ROUTES, ALL_SCOPES, ALL_TOKEN_SCOPES } from "../all-routes.ts";
import { signToken, type TokenClaims } from "../../../src/gateway/auth/tokens.ts";
import type { HarnessBackend } from "../../engine/turn-harness.ts";
import { systemEnv } from "../../../src/util/env.ts";
import { requestTestPayment } from "../pending-payments.ts";
import { openServer, type TestServer, type TestResponse } from "../test-server.ts";
import {
  type Access,
  COMMAND_ACCESS,
  type Credentials,
  expectedOutcome,
  type Outcome,
  ROUTE_ACCESS,
  sampleCommands,
} from "./access-matrix.ts";

const CANARY = "canary-7d1f";

export function tenantsContract(name: string, makeParts?: () => Promise<HarnessBackend>): void {
  describe(`${name}: tenant isolation`, () => {
    let server: TestServer;
    let parts: HarnessBackend | undefined;
    let session: { id: string; number: number };
    let payment: string;
    let foreign: Record<string, string>;
    const strangers: Record<string, Record<string, string>> = {};
    /** Credentials of the owner that lack one scope. */
    const limited: (readonly [name: string, scopes: readonly Scope[], headers: Record<string, string>])[] =
      [];

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
      await knowledgeOf(store).put(tenant, "base", { id: "o", title: CANARY, text: CANARY });
      payment = (await requestTestPayment(server.backend, ref, { description: CANARY })).id;
      await store.blobs.put(ref, { id: "b", mediaType: "text/plain", body: Buffer.from(CANARY) });
      const link = await server.request("POST", `/sessions/${session.id}/shares`, { body: {} });

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
      const now = systemEnv.now();
      const grant: TokenClaims = { tenant, user, key: null, scopes: ["read"], expiresAt: now + 3_600_000 };
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
        "a share link as a token": { authorization: `Bearer ${link.json.token}` },
        "a share link as a key": { "x-api-key": link.json.token, "x-user-id": user },
        "basic credentials": { authorization: `Basic ${Buffer.from(`${user}:x`).toString("base64")}` },
      });
      for (const missing of ALL_SCOPES) {
        const ofKey = ALL_SCOPES.filter((scope) => scope !== missing);
        const { secret: few } = await keyOf(tenant, ofKey);
        limited.push([`a key without ${missing}`, ofKey, { "x-api-key": few, "x-user-id": user }]);
        if (!ALL_TOKEN_SCOPES.includes(missing)) continue;
        const ofToken = ALL_TOKEN_SCOPES.filter((scope) => scope !== missing);
        limited.push([`a token without ${missing}`, ofToken, await bearer({ scopes: ofToken })]);
      }
    });
    afterAll(async () => {
      await server.close();
      await parts?.signals.close();
      await parts?.log.close();
      await parts?.store.close();
    });

    const withCaller = ALL_ROUTES.filter(({ scope }) => scope !== null);
    const ofSessions = withCaller.filter(({ path }) => path.includes("{session}"));

    /** All actors, with what they present. */
    const actors = (): (readonly [string, Credentials, Record<string, string>, (readonly Scope[])?])[] => [
      ["the owner", "of the owner", { ...server.auth }],
      ["another user", "of another user", { ...server.auth, "x-user-id": "guest" }],
      ["a user of another tenant", "of another tenant", foreign],
      ...limited.map(([who, scopes, headers]) => [who, "of the owner", headers, scopes] as const),
      ...Object.entries(strangers).map(([who, headers]) => [who, "invalid", headers] as const),
    ];

    test("every route and every command is in the matrix, with its scope", () => {
      expect(Object.keys(ROUTE_ACCESS).toSorted()).toEqual(ALL_ROUTES.map(nameOf).toSorted());
      for (const route of ALL_ROUTES) expect(accessTo(route).scope, nameOf(route)).toBe(route.scope);
      for (const { method, path } of ofSessions)
        expect(ROUTE_ACCESS[`${method} ${path}`]?.resource, path).toBe("session");
      expect(Object.keys(COMMAND_ACCESS).toSorted()).toEqual(Object.keys(socketCommands).toSorted());
    });

    const withIds = (path: string) =>
      path.replace("{base}", "base").replace("{object}", "o").replace("{payment}", payment);

    test("shows no data of others on routes without a session", async () => {
      for (const { method, path } of withCaller.filter((route) => !route.path.includes("{session}")))
        for (const one of pathsOf(withIds(path), ""))
          expect((await server.request(method, one, { headers: foreign })).text, one).not.toContain(CANARY);
      expect((await server.request("GET", "/sessions")).text).toContain(CANARY);
      for (const path of ["/memories", "/knowledge/{base}/objects", "/payments/{payment}"])
        expect((await server.request("GET", withIds(path))).text, path).toContain(CANARY);
    });

    test("every actor gets on every route the outcome of the matrix", { timeout: 300_000 }, async () => {
      const missed: string[] = [];
      for (const [who, credentials, headers, scopes] of actors()) {
        const check = async (route: Route) => {
          // The owner's requests may erase the session, so each has its own.
          const isOwner = credentials === "of the owner" && route.path.includes("{session}");
          const own = isOwner ? await server.request("POST", "/sessions", { body: {} }) : null;
          const path = pathsOf(route.path, own?.json.session_id ?? session.id)[0] ?? "";
          const outcome = await outcomeOf(server, route.method, path, headers);
          const expected = expectedOutcome(accessTo(route), credentials, scopes);
          if (outcome !== expected) missed.push(`${who}: ${nameOf(route)}: ${outcome}, not ${expected}`);
        };
        await Promise.all(ALL_ROUTES.map(check));
      }
      expect(missed).toEqual([]);
      expect((await server.request("GET", `/sessions/${session.id}`)).json.title).toBe(CANARY);
    });

    test("every actor gets for every command on a socket the outcome of the matrix", async () => {
      const missed: string[] = [];
      for (const [who, credentials, headers, scopes] of actors()) {
        const status = await statusOf(server.url, headers);
        const opening = expectedOutcome({ scope: "read", resource: "user" }, credentials, scopes);
        if (toOutcome(status, "") !== opening) missed.push(`${who}: socket: ${status}`);
        if (status !== 101) continue;
        const dialects = scopes === undefined ? ["native", "blocks", "tasks"] : ["native"];
        for (const dialect of dialects)
          for (const [access, command, reply] of await repliesOf(server.url, headers, session.id, dialect)) {
            const outcome = toOutcome(
              reply.error === undefined ? 200 : ERROR_STATUS[reply.error],
              reply.message,
            );
            const expected = expectedOutcome(access, credentials, scopes);
            if (outcome !== expected)
              missed.push(`${who}: ${JSON.stringify(command)}: ${outcome}, not ${expected}`);
          }
      }
      expect(missed).toEqual([]);
    });

    test("a ticket opens an event stream for its own user only", async () => {
      for (const [who, credentials, headers, scopes] of actors()) {
        const made = await server.request("POST", "/tickets", { headers, body: {} });
        const expected = expectedOutcome({ scope: "read", resource: "session" }, credentials, scopes);
        const isIssued = made.status === 201;
        expect(isIssued, who).toBe(expected === "allowed" || expected === "not found");
        if (!isIssued) continue;
        const path = `/sessions/${session.id}/events?ticket=${encodeURIComponent(made.json.ticket)}`;
        expect(await outcomeOf(server, "GET", path, {}), who).toBe(expected);
      }
    });

    test("the owner reads every resource of the session, by id and by number", async () => {
      const simple = ofSessions.filter(
        ({ method, path }) => method === "GET" && !/\{(?!session)/.test(path) && !path.endsWith("/events"),
      );
      expect(simple.length).toBeGreaterThan(5);
      for (const { path } of simple)
        for (const one of [...pathsOf(path, session.id), ...pathsOf(path, session.number)])
          expect((await server.request("GET", one)).status, one).toBe(200);
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
          // A number names a session of the caller's own tenant.
          const byNumber = headers === guest ? pathsOf(path, session.number) : [];
          for (const one of [...pathsOf(path, session.id), ...byNumber])
            if (plain(await ask(method, one, headers)) !== nowhere) missed.push(`${method} ${one}`);
        }
      expect(missed).toEqual([]);
      expect((await server.request("GET", `/sessions/${session.id}`)).json.title).toBe(CANARY);
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
  });
}

function nameOf({ method, path }: Route): string {
  return `${method} ${path}`;
}

function accessTo(route: Route): Access {
  return ROUTE_ACCESS[nameOf(route)] ?? { scope: null, resource: "link" };
}

const SESSION_MISSING = "The session does not exist, or belongs to another user.";
const ERROR_STATUS: Readonly<Record<string, number>> = {
  UNAUTHENTICATED: 401,
  FORBIDDEN: 403,
  NOT_FOUND: 404,
};

/** A resource that is missing in a session of the caller is an answer, so the caller was allowed to ask. */
function toOutcome(status: number | undefined, message: string | undefined): Outcome {
  if (status === 401) return "unauthenticated";
  if (status === 403) return "forbidden";
  return status === 404 && message === SESSION_MISSING ? "not found" : "allowed";
}

/** Reads errors as a whole, and of anything else only the head: an event stream never ends. */
async function outcomeOf(
  { url }: TestServer,
  method: string,
  path: string,
  headers: Record<string, string>,
): Promise<Outcome> {
  const left = new AbortController();
  const response = await fetch(`${url}/api/v1${path}`, { method, headers, signal: left.signal });
  const text = response.status >= 400 ? await response.text() : "";
  left.abort();
  const { message } = text.startsWith("{") ? (JSON.parse(text) as { message?: string }) : {};
  return toOutcome(response.status, message);
}

interface Reply {
  readonly request_id?: string;
  readonly error?: string;
  readonly message?: string;
}

/** Returns the replies to one valid command of each kind. */
async function repliesOf(url: string, headers: Record<string, string>, session: string, dialect: string) {
  const socket = new WebSocket(`${url.replace("http", "ws")}/api/v1/socket?dialect=${dialect}`, { headers });
  await new Promise((resolve, reject) => socket.once("open", resolve).once("error", reject));
  const replies = new Map<string, Reply>();
  const samples = sampleCommands(session);
  await new Promise<void>((resolve) => {
    socket.on("message", (data: Buffer) => {
      const reply = JSON.parse(data.toString()) as Reply;
      if (reply.request_id !== undefined) replies.set(reply.request_id, reply);
      if (replies.size === samples.length) resolve();
    });
    samples.forEach(([, command], n) => socket.send(JSON.stringify({ ...command, request_id: `r${n}` })));
    socket.on("close", () => resolve());
  });
  socket.terminate();
  return samples.map(([access, command], n) => [access, command, replies.get(`r${n}`) ?? {}] as const);
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
