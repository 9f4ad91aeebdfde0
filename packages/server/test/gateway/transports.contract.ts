/** The contract of every request over both transports: error schema, limits, headers, and sessions. */
import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import { errorReply } from "@turnstream/protocol/schema";
import { LogError } from "../../src/log/errors.ts";
import type { HarnessBackend } from "../engine/turn-harness.ts";
import { type TransportName, type TransportServer, openTransport } from "./transports.ts";
import { createTestSession, requestInteraction } from "./pending-interactions.ts";
import { nextMillisecond } from "../next-millisecond.ts";
import type { TestResponse } from "./test-server.ts";

const PAGE = "https://app.example.com";

function expectError(response: TestResponse, status: number, code: string): void {
  expect(response.status, response.text).toBe(status);
  expect(errorReply.parse(response.json).error).toBe(code);
}

export function transportsContract(
  transport: TransportName,
  makeParts?: () => Promise<HarnessBackend>,
): void {
  describe(`requests over ${transport}`, () => {
    let server: TransportServer;
    let parts: HarnessBackend | undefined;
    beforeAll(async () => {
      parts = await makeParts?.();
      server = await openTransport(transport, parts, {
        allowedOrigins: [PAGE],
        limits: { maxBodyBytes: 10_000 },
      });
    });
    afterAll(async () => {
      await server.close();
      await parts?.signals.close();
      await parts?.log.close();
      await parts?.store.close();
    });

    const post = (body: string | Uint8Array<ArrayBuffer>, type = "application/json") =>
      server.send("/api/v1/sessions", {
        method: "POST",
        headers: { ...server.auth, "content-type": type },
        body,
      });

    test("creates a session, finds it by id and by number, renames, lists and erases it", async () => {
      const made = await server.request("POST", "/sessions", { body: { title: "Markets" } });
      expect(made).toMatchObject({ status: 201, json: { title: "Markets", forked_from_share: false } });
      const { session_id: id, chat_id: number } = made.json;
      const ref = { tenant: server.actor.tenant, session: id };
      for (const path of [`/sessions/${id}`, `/sessions/${number}`, `/chats/${id}`, `/chats/${number}`])
        expect((await server.request("GET", path)).json).toEqual(made.json);
      const renamed = await server.request("PATCH", `/chats/${number}`, { body: { title: "Other" } });
      expect(renamed).toMatchObject({ status: 200, json: { title: "Other" } });
      // Subscribers receive the new title too.
      const page = await server.backend.log.read(ref, { after: "0-0" });
      expect(page.ok && page.entries.at(-1)?.event).toMatchObject({ type: "session.update", title: "Other" });
      expect((await server.request("GET", "/sessions")).json.sessions).toContainEqual(renamed.json);
      expect((await server.request("DELETE", `/sessions/${id}`)).status).toBe(204);
      expectError(await server.request("GET", `/sessions/${id}`), 404, "NOT_FOUND");
      expectError(await server.request("DELETE", `/sessions/${id}`), 404, "NOT_FOUND");
      expect(await server.backend.log.head(ref)).toBeNull();
    });

    test("decides, answers and submits, and revokes an allowance, and no entry of the audit has an address", async () => {
      const { backend, actor } = server;
      const ref = await createTestSession(backend, actor);
      const path = `/sessions/${ref.session}`;
      const decisions = [
        ["approval", "decide", { decision: "approve", always: true }, "approved"],
        ["approval", "decide", { decision: "reject", reason: "no" }, "rejected"],
        ["question", "answer", { answers: [{ question: "meal", selected: ["dinner"] }] }, "answered"],
        ["question", "dismiss", {}, "dismissed"],
        ["form", "submit", { values: { email: "an@example.com" } }, "submitted"],
        ["form", "decline", {}, "declined"],
      ] as const;
      for (const [kind, verb, body, status] of decisions) {
        const key = await requestInteraction(backend, ref, kind);
        const response = await server.request("POST", `${path}/interactions/${key}/${verb}`, { body });
        expect(response.status, response.text).toBe(200);
        expect(response.json.interaction).toMatchObject({ key, status });
      }
      expect((await server.request("DELETE", `${path}/allowances/broker/trade`)).status).toBe(204);
      const rows = (await backend.store.audit.list(actor.tenant, { after: 0, limit: 100 })).filter(
        ({ subject }) => (JSON.parse(subject) as { session?: string }).session === ref.session,
      );
      const clients = rows.flatMap(
        ({ detail }) => (JSON.parse(detail) as { from?: string } | null)?.from ?? [],
      );
      // One row for each decision, and one for the revoked allowance.
      expect(new Set(clients)).toHaveLength(7);
      expect(JSON.stringify(rows)).not.toContain("127.0.0.1");
    });

    test("a socket request without an upgrade fails with what is missing", async () => {
      const response = await server.request("GET", "/socket?dialect=blocks");
      expectError(response, 426, "BAD_REQUEST");
      expect(response.json.message).toContain("WebSocket");
    });

    test("refuses two credentials in one request, whichever of them is valid", async () => {
      const made = await server.request("POST", "/tokens", { body: { user_id: "linh" } });
      const headers = { ...server.auth, authorization: `Bearer ${made.json.token}` };
      const response = await server.request("GET", "/sessions", { headers });
      expectError(response, 401, "UNAUTHENTICATED");
      expect(response.json.message).toContain("not both");
    });

    test("refuses an invalid user id before any lookup", async () => {
      const headers = { ...server.auth, "x-user-id": "n".repeat(257) };
      const response = await server.request("GET", "/memories", { headers });
      expectError(response, 400, "BAD_REQUEST");
      expect(response.json.message).toContain("x-user-id");
    });

    test("returns a list in pages", async () => {
      const headers = { ...server.auth, "x-user-id": "lists" };
      for (const title of ["a", "b", "c"]) {
        await server.request("POST", "/sessions", { headers, body: { title } });
        // Sessions of the same millisecond have no defined order.
        await nextMillisecond();
      }
      const first = await server.request("GET", "/sessions?limit=2", { headers });
      expect(first.json.sessions.map(({ title }: { title: string }) => title)).toEqual(["c", "b"]);
      const before = encodeURIComponent(first.json.next_before);
      const second = await server.request("GET", `/sessions?limit=2&before=${before}`, { headers });
      expect(second.json).toMatchObject({ sessions: [{ title: "a" }], next_before: null });
      for (const query of ["limit=0", "limit=101", "limit=x", "before=x", "more=1", "limit=1&limit=2"])
        expectError(await server.request("GET", `/sessions?${query}`, { headers }), 400, "BAD_REQUEST");
    });

    test("a client-chosen id can be repeated, but is not a number and not another user's id", async () => {
      const id = `mine-${randomUUID()}`;
      const made = await server.request("POST", "/sessions", { body: { session_id: id } });
      expect((await server.request("POST", "/sessions", { body: { session_id: id } })).json).toEqual(
        made.json,
      );
      const headers = { ...server.auth, "x-user-id": "else" };
      const taken = await server.request("POST", "/sessions", { headers, body: { session_id: id } });
      expectError(taken, 409, "CONFLICT");
      for (const session_id of ["12", "", "a b", "a/b", "x".repeat(201), 5])
        expectError(await server.request("POST", "/sessions", { body: { session_id } }), 400, "BAD_REQUEST");
    });

    test("returns 404 for unknown paths and 405 for unsupported methods", async () => {
      expectError(await server.request("GET", "/nothing"), 404, "NOT_FOUND");
      expectError(await server.request("GET", "/sessions/"), 404, "NOT_FOUND");
      expectError(await server.request("GET", "/sessions/%zz"), 400, "BAD_REQUEST");
      for (const name of ["%00", "a%0d%0ab", "..%2f..", "x".repeat(5_000), "9".repeat(30), "%F0%9F%98%80"])
        expectError(await server.request("GET", `/sessions/${name}`), 404, "NOT_FOUND");
      const put = await server.request("PUT", "/sessions");
      expectError(put, 405, "BAD_REQUEST");
      expect(put.headers.get("allow")).toBe("GET, HEAD, OPTIONS, POST");
      expectError(await server.send("/elsewhere", {}), 404, "NOT_FOUND");
    });

    test("accepts only complete JSON bodies of a limited size", async () => {
      expect((await post('{"title":"x"}', "application/json; charset=utf-8")).status).toBe(201);
      expect((await post("", "application/json")).status).toBe(201);
      const bad = ["{", "null", "[]", '"x"', '{"__proto__":{"a":1}}', '{"title":{"__proto__":1}}'];
      for (const body of [...bad, '{"title":"x","is_admin":true}', '{"title":5}', '{"title":""}'])
        expectError(await post(body), 400, "BAD_REQUEST");
      expectError(await post(`{"title":${"[".repeat(3_000)}${"]".repeat(3_000)}}`), 400, "BAD_REQUEST");
      expectError(await post(new Uint8Array([0x22, 0xff, 0x22])), 400, "BAD_REQUEST");
      expectError(await post("title=x", "application/x-www-form-urlencoded"), 400, "BAD_REQUEST");
      expectError(await post(JSON.stringify({ title: "x".repeat(10_000) })), 413, "TOO_LARGE");
    });

    test("a HEAD request returns only the headers", async () => {
      const { session_id: id } = (await server.request("POST", "/sessions", { body: {} })).json;
      const got = await server.request("GET", `/sessions/${id}`);
      const head = await server.request("HEAD", `/sessions/${id}`);
      expect([head.status, head.text]).toEqual([200, ""]);
      expect(head.headers.get("content-length")).toBe(String(Buffer.byteLength(got.text)));
      expect((await server.request("HEAD", "/sessions/none")).status).toBe(404);
    });

    test("every response has the security headers", async () => {
      const answers = [
        await server.request("GET", "/sessions"),
        await server.request("GET", "/sessions", { headers: {} }),
        await server.request("GET", "/nothing"),
        await server.request("POST", "/sessions", { body: { wrong: 1 } }),
      ];
      for (const { headers } of answers) {
        expect(headers.get("x-content-type-options")).toBe("nosniff");
        expect(headers.get("referrer-policy")).toBe("no-referrer");
        expect(headers.get("cache-control")).toBe("no-store");
        expect(headers.get("content-type")).toBe("application/json; charset=utf-8");
        expect(headers.get("vary")).toBe("origin");
      }
      expect(answers[1]?.headers.get("www-authenticate")).toBe("Bearer");
    });

    test("every response has the id of its request, which a proxy can choose", async () => {
      const ids = [
        (await server.request("GET", "/sessions")).headers.get("x-request-id"),
        (await server.request("GET", "/nothing")).headers.get("x-request-id"),
      ];
      expect(new Set(ids).size).toBe(2);
      expect(ids.every((id) => id !== null && id.length > 8)).toBe(true);
      const named = async (id: string) => {
        const { headers } = await server.request("GET", "/sessions", {
          headers: { ...server.auth, "x-request-id": id },
        });
        return headers.get("x-request-id");
      };
      expect(await named("proxy-1")).toBe("proxy-1");
      expect(await named("<script>")).not.toBe("<script>");
      expect(await named("a".repeat(200))).not.toBe("a".repeat(200));
    });

    test("only pages of the configured origins can read responses", async () => {
      const from = (origin: string) =>
        server.request("GET", "/sessions", { headers: { ...server.auth, origin } });
      expect((await from(PAGE)).headers.get("access-control-allow-origin")).toBe(PAGE);
      // A page of another origin can read only the exposed headers.
      for (const name of ["etag", "idempotency-replayed", "retry-after", "x-request-id"])
        expect((await from(PAGE)).headers.get("access-control-expose-headers")).toContain(name);
      for (const origin of ["https://evil.example", "null", `${PAGE}.evil.example`, "http://app.example.com"])
        expect((await from(origin)).headers.get("access-control-allow-origin")).toBeNull();
      const asked = { origin: PAGE, "access-control-request-method": "POST" };
      const preflight = await server.request("OPTIONS", "/sessions", { headers: asked });
      expect(preflight.status).toBe(204);
      expect(preflight.headers.get("access-control-allow-origin")).toBe(PAGE);
      expect(preflight.headers.get("access-control-allow-headers")).toContain("authorization");
      // A page must never have an API key.
      expect(preflight.headers.get("access-control-allow-headers")).not.toMatch(/x-api-key|x-user-id/);
      expect(preflight.headers.get("access-control-allow-methods")).toContain("PATCH");
      expect(preflight.headers.get("access-control-allow-credentials")).toBeNull();
    });

    test("a request with an idempotency key is executed once, however often it is repeated", async () => {
      const key = randomUUID();
      const headers = { ...server.auth, "x-user-id": `once-${key}`, "idempotency-key": key };
      const all = await Promise.all(
        Array.from({ length: 5 }, () =>
          server.request("POST", "/sessions", { headers, body: { title: "x" } }),
        ),
      );
      for (const { status, json } of all) expect([status, json]).toEqual([201, all[0]?.json]);
      const replayed = all.filter((one) => one.headers.get("idempotency-replayed") === "true");
      expect(replayed).toHaveLength(4);
      expect((await server.request("GET", "/sessions", { headers })).json.sessions).toHaveLength(1);
      const other = await server.request("POST", "/sessions", { headers, body: { title: "y" } });
      expectError(other, 409, "CONFLICT");
      const bad = { ...headers, "idempotency-key": "a b" };
      expectError(await server.request("POST", "/sessions", { headers: bad, body: {} }), 400, "BAD_REQUEST");
      // The same key of another user is another key.
      const others = { ...headers, "x-user-id": `else-${key}` };
      const theirs = await server.request("POST", "/sessions", { headers: others, body: { title: "x" } });
      expect(theirs.json.session_id).not.toBe(all[0]?.json.session_id);
    });

    test("an interrupted request creates nothing twice when it is repeated", async () => {
      const headers = { ...server.auth, "x-user-id": "breaks", "idempotency-key": randomUUID() };
      const broken = vi.spyOn(server.backend.log, "head").mockRejectedValueOnce(new LogError("UNAVAILABLE"));
      const first = await server.request("POST", "/sessions", { headers, body: {} });
      expect(errorReply.parse(first.json)).toMatchObject({ can_retry: true, retry_after_seconds: 1 });
      expect([first.status, first.headers.get("retry-after")]).toEqual([503, "1"]);
      broken.mockRestore();
      const second = await server.request("POST", "/sessions", { headers, body: {} });
      expect([second.status, second.headers.get("idempotency-replayed")]).toEqual([201, null]);
      expect((await server.request("GET", "/sessions", { headers })).json.sessions).toEqual([second.json]);
    });

    test("an unexpected error reveals nothing to the client and is reported to the operator", async () => {
      const secret = new Error("password is hunter2");
      const broken = vi.spyOn(server.backend.store.sessions, "list").mockRejectedValueOnce(secret);
      const response = await server.request("GET", "/sessions");
      broken.mockRestore();
      expectError(response, 500, "SERVER_ERROR");
      expect(response.text).not.toContain("hunter2");
      expect(server.errors.at(-1)?.error).toBe(secret);
    });

    test("a share shows the session as it was, can be forked, and stays closed once it is revoked", async () => {
      const { session_id: id } = (await server.request("POST", "/sessions", { body: { title: "Shared" } }))
        .json;
      const made = await server.request("POST", `/sessions/${id}/shares`, { body: {} });
      expect(made.status, made.text).toBe(201);
      const { token, share_id: share } = made.json;
      await server.request("PATCH", `/sessions/${id}`, { body: { title: "Later" } });
      expect((await server.request("GET", `/sessions/${id}/shares`)).json).toEqual({ shares: [made.json] });
      const seen = await server.request("GET", `/shares/${token}`, { headers: {} });
      expect(seen).toMatchObject({ status: 200, json: { title: "Shared", snapshot: { turns: [] } } });
      const headers = { ...server.auth, "x-user-id": "guest" };
      const forked = await server.request("POST", `/shares/${token}/fork`, { headers, body: {} });
      expect(forked).toMatchObject({ status: 201, json: { title: "Shared", forked_from_share: true } });
      expect((await server.request("GET", `/chats/${forked.json.chat_id}`, { headers })).status).toBe(200);
      expectError(await server.request("GET", `/%73hares/${token}`, { headers: {} }), 404, "NOT_FOUND");
      for (const bad of [`${token}x`, token.slice(0, -1), share])
        expectError(await server.request("GET", `/shares/${bad}`, { headers: {} }), 404, "NOT_FOUND");
      expectError(await server.request("DELETE", `/sessions/${id}/shares/none`), 404, "NOT_FOUND");
      expect((await server.request("DELETE", `/sessions/${id}/shares/${share}`)).status).toBe(204);
      expectError(await server.request("GET", `/shares/${token}`, { headers: {} }), 404, "NOT_FOUND");
      expectError(
        await server.request("POST", `/shares/${token}/fork`, { headers, body: {} }),
        404,
        "NOT_FOUND",
      );
    });
  });
}
