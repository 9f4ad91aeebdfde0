/** What the gateway notes in the audit: tokens, shares, forks, erasures and refused sign-ins, a bounded number of times. */
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { signToken } from "../../src/gateway/auth/tokens.ts";
import { systemEnv } from "../../src/util/env.ts";
import { verifyTenantAudit } from "../../../cli/src/audit/verify-audit.ts";
import type { HarnessBackend } from "../engine/turn-harness.ts";
import { createTestSession, requestInteraction } from "./pending-interactions.ts";
import { openServer, type TestServer } from "./test-server.ts";

const HOUR_MS = 60 * 60 * 1_000;

export function gatewayAuditContract(name: string, open: () => Promise<HarnessBackend>): void {
  describe(`${name}: the audit of the gateway`, () => {
    let backend: HarnessBackend;
    let server: TestServer;
    let now = systemEnv.now();
    let ids = 0;
    const env = {
      now: () => now,
      id: () => `audit-${++ids}-${crypto.randomUUID()}`,
      randomBytes: (size: number) => crypto.getRandomValues(new Uint8Array(size)),
    };

    beforeAll(async () => {
      backend = await open();
      server = await openServer(backend, { env });
    });
    afterAll(async () => {
      await server.close();
      await backend.signals.close();
      await backend.log.close();
      await backend.store.close();
    });

    async function actionsSince(n: number): Promise<[string, object][]> {
      const rows = await backend.store.audit.list(server.actor.tenant, { after: n, limit: 1_000 });
      return rows.map(({ action, subject, detail }) => [
        action,
        { ...(JSON.parse(subject) as object), ...(JSON.parse(detail) as object | null) },
      ]);
    }
    const head = async () => (await backend.store.audit.head(server.actor.tenant))?.n ?? 0;

    test("notes tokens once per key, scopes and hour, for all users together", async () => {
      const before = await head();
      const issue = (body: object) => server.request("POST", "/tokens", { body });
      for (let n = 0; n < 5; n++) expect((await issue({ user_id: `u${n}` })).status).toBe(201);
      await issue({ user_id: "u1", scopes: ["read"] });
      now += HOUR_MS;
      await issue({ user_id: "u1" });
      const scopes = ["decide", "read", "share", "write"];
      const key = server.key.id;
      expect(await actionsSince(before)).toEqual([
        ["token.issued", { key, scopes }],
        ["token.issued", { key, scopes: ["read"] }],
        ["token.issued", { key, scopes }],
      ]);
    });

    test("notes shares that are opened, read, forked and revoked, and reads once per hour", async () => {
      const { session } = await createTestSession(backend, server.actor);
      const before = await head();
      const made = (await server.request("POST", `/sessions/${session}/shares`, { body: {} })).json;
      const { share_id: share, token } = made as { share_id: string; token: string };
      const read = () => server.request("GET", `/shares/${token}`, { headers: {} });
      for (let n = 0; n < 5; n++) expect((await read()).status).toBe(200);
      // Another gateway has no memory of these reads, but the database has.
      const other = await openServer(backend, { env, secrets: server.secrets, actor: server.actor });
      expect((await other.request("GET", `/shares/${token}`, { headers: {} })).status).toBe(200);
      await other.close();
      now += HOUR_MS;
      await read();
      const forked = (await server.request("POST", `/shares/${token}/fork`, { body: {} })).json.session_id;
      await server.request("DELETE", `/sessions/${session}/shares/${share}`);
      await server.request("DELETE", `/sessions/${session}`);
      expect((await actionsSince(before)).filter(([action]) => action !== "key.created")).toEqual([
        ["share.opened", { session, share, expires_at: null }],
        ["share.read", { session, share }],
        ["share.read", { session, share }],
        ["session.forked", { session: forked, share }],
        ["share.revoked", { share }],
        ["session.erased", {}],
      ]);
    });

    test("notes refused sign-ins by tenant and key, with their count, when the gateway closes", async () => {
      const { tenant, user } = server.actor;
      const own = await openServer(backend, { env, actor: server.actor });
      const { key, secret } = await backend.store.keys.create(tenant, { name: "k", scopes: [] });
      await backend.store.keys.revoke(tenant, key.id);
      const before = await head();
      const expired = { tenant, user, key: null, scopes: ["read"], expiresAt: now - 60_000 };
      const token = await signToken(expired, own.secrets[0], now - 120_000);
      const get = (headers: Record<string, string>) => own.request("GET", "/sessions?limit=1", { headers });
      for (let n = 0; n < 7; n++) expect((await get({ "x-api-key": secret })).status).toBe(401);
      for (let n = 0; n < 2; n++) expect((await get({ authorization: `Bearer ${token}` })).status).toBe(401);
      // An invented key: there is no tenant to note it for.
      await get({ "x-api-key": `ts_${"0".repeat(24)}_${"A".repeat(43)}` });
      await own.close();
      expect(await actionsSince(before)).toEqual([
        ["sign_in.refused", { key: key.id, count: 7 }],
        ["sign_in.refused", { count: 2 }],
      ]);
    });

    test("names the request of a decision by a random id, and no address", async () => {
      const ref = await createTestSession(backend, server.actor);
      const before = await head();
      const froms = new Set<unknown>();
      for (let n = 0; n < 2; n++) {
        const key = await requestInteraction(backend, ref, "approval");
        const path = `/sessions/${ref.session}/interactions/${key}/decide`;
        expect((await server.request("POST", path, { body: { decision: "approve" } })).status).toBe(200);
      }
      for (const [action, { from }] of (await actionsSince(before)) as [string, { from: string }][]) {
        expect(action).toBe("approval.approved");
        expect(from).toMatch(/^audit-/);
        froms.add(from);
      }
      expect(froms.size).toBe(2);
      expect(await verifyTenantAudit(backend.store.audit, server.actor.tenant)).toMatchObject({ ok: true });
    });
  });
}
