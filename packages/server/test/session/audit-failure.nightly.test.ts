/**
 * Tests on real servers that an audit which can't be written never keeps a stop, a rejection or an erasure from
 * happening, and that nothing is granted without an entry.
 */
import { openBackend, type TestBackend } from "@turnstream/testkit/backend/open-backend.ts";
import { migratedDatabaseUrl } from "@turnstream/testkit/backend/migrated-database-url.ts";
import { runSql } from "@turnstream/testkit/servers/run-sql.ts";
import { freshPrefix, sharedRedisUrl } from "@turnstream/testkit/servers/shared-servers.ts";
import pg from "pg";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { answerQuestion, dismissQuestion } from "../../src/session/interactions/answer-question.ts";
import { revokeAllowance } from "../../src/session/interactions/allowances.ts";
import { decideApproval } from "../../src/session/interactions/decide-approval.ts";
import { findInteraction } from "../../src/session/interactions/find.ts";
import { declineForm, submitForm } from "../../src/session/interactions/submit-form.ts";
import { transitionInteraction } from "../../src/session/interactions/transition.ts";
import { eraseSession, eraseUser } from "../../src/session/lifecycle/erase.ts";
import { eraseMemories } from "../../src/session/memories.ts";
import { forkShare } from "../../src/store/fork/fork-share.ts";
import { openDatabase } from "../../src/store/database/open-database.ts";
import { createPostgresStore } from "../../src/store/create-postgres-store.ts";
import type { SessionRef } from "../../src/util/refs.ts";
import { createTestSession, requestInteraction } from "../gateway/pending-interactions.ts";

const BREAK = `create trigger broken before insert on turnstream.audit_log
  for each row execute function turnstream.audit_is_append_only()`;
const REPAIR = "drop trigger broken on turnstream.audit_log";
const actor = { tenant: "acme", user: "an" };

let url: string;
let backend: TestBackend;
let ref: SessionRef;
const lost: string[] = [];

beforeAll(async () => {
  url = await migratedDatabaseUrl();
  const opened = await openBackend({
    databaseUrl: url,
    redisUrl: sharedRedisUrl(),
    keyPrefix: freshPrefix(),
  });
  await opened.store.close();
  const db = openDatabase({ url, timeouts: { lockMs: 300 } });
  const store = createPostgresStore(db, { onError: (_error, { during }) => lost.push(during) });
  backend = { ...opened, store };
  await store.tenants.create({ id: "acme", name: "acme" });
});
afterAll(() => backend.close());
beforeEach(async () => {
  ref = await createTestSession(backend, actor);
  lost.length = 0;
});

async function whileBroken<T>(work: () => Promise<T>): Promise<T> {
  await runSql(url, BREAK);
  try {
    return await work();
  } finally {
    await runSql(url, REPAIR);
  }
}

const decide = (key: string, decision: "approve" | "reject", always = false) =>
  decideApproval(backend, ref, {
    key,
    decision,
    userId: actor.user,
    clientId: "c1",
    ...(always ? { always } : {}),
  });

describe("an audit that refuses rows", () => {
  test("never keeps a rejection, a withdrawal, a revocation or an erasure from happening", async () => {
    const { store } = backend;
    const asked = await requestInteraction(backend, ref, "approval");
    const stopped = await requestInteraction(backend, ref, "approval");
    const question = await requestInteraction(backend, ref, "question");
    const form = await requestInteraction(backend, ref, "form");
    const allowed = await requestInteraction(backend, ref, "approval");
    await decide(allowed, "approve", true);
    const { key } = await store.keys.create("acme", { name: "k", scopes: [] });
    const share = await store.shares.create(actor, ref.session);
    await whileBroken(async () => {
      expect(await decide(asked, "reject")).toMatchObject({ applied: true });
      // What the worker does with pending interactions when a user stops the turn.
      const pending = await findInteraction(store, ref, stopped, "approval");
      const withdrawn = await store.transaction((tx) =>
        transitionInteraction(tx, ref, pending, { to: "cancelled" }),
      );
      expect(withdrawn).toMatchObject({ applied: true });
      const by = { userId: actor.user };
      expect(await dismissQuestion(backend, ref, { key: question, ...by })).toMatchObject({ applied: true });
      expect(await declineForm(backend, ref, { form, startNextTurn: false, ...by })).toMatchObject({
        applied: true,
      });
      expect(await revokeAllowance(backend, ref, { agent: "broker", tool: "trade" })).toBe(true);
      expect(await store.keys.revoke("acme", key.id)).toBe(true);
      expect(await store.shares.revoke(actor, share.id)).toBe(true);
      await eraseMemories(backend, actor);
      expect(await eraseSession(backend, ref)).toBe(true);
      const other = await createTestSession(backend, actor);
      expect(await eraseUser(backend, "acme", actor.user)).toBeGreaterThan(0);
      expect(await store.sessions.find(other)).toBeNull();
    });
    expect(lost).toEqual(
      [
        "approval.rejected",
        "approval.cancelled",
        "question.dismissed",
        "form.declined",
        "approval.revoked",
        "key.revoked",
        "share.revoked",
        "session.erased",
        "user.erased",
      ].map((action) => `the audit of ${action}`),
    );
  });

  test("keeps every consent and grant from happening", async () => {
    const { store } = backend;
    const approval = await requestInteraction(backend, ref, "approval");
    const question = await requestInteraction(backend, ref, "question");
    const form = await requestInteraction(backend, ref, "form");
    const share = await store.shares.create(actor, ref.session);
    const keys = await store.keys.list("acme");
    const answers = [{ question: "meal", selected: ["dinner"] }];
    const values = { email: "an@example.com" };
    const grants: (() => Promise<unknown>)[] = [
      () => decide(approval, "approve"),
      () => decide(approval, "approve", true),
      () => answerQuestion(backend, ref, { key: question, answers }),
      () => submitForm(backend, ref, { form, values, startNextTurn: false }),
      () => store.keys.create("acme", { name: "k", scopes: [] }),
      () => store.shares.create(actor, ref.session, { id: "granted" }),
      () => forkShare(store, actor, share.id, { id: "forked" }),
    ];
    await whileBroken(async () => {
      for (const grant of grants) await expect(grant()).rejects.toMatchObject({ code: "UNAVAILABLE" });
    });
    expect(lost).toEqual([]);
    expect((await store.interactions.list(ref)).map(({ status }) => status)).toEqual(
      Array<string>(3).fill("pending"),
    );
    expect(await store.allowances.list(ref)).toEqual([]);
    expect(await store.keys.list("acme")).toEqual(keys);
    expect(await store.shares.find("granted")).toBeNull();
    expect(await store.sessions.get(actor, "forked")).toBeNull();
    expect(await decide(approval, "approve")).toMatchObject({ applied: true });
  });
});

test("an end of the audit that another transaction has locked delays a rejection, and never prevents it", async () => {
  const key = await requestInteraction(backend, ref, "approval");
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    await client.query("begin");
    await client.query("select * from turnstream.audit_heads where tenant_id = 'acme' for update");
    expect(await decide(key, "reject")).toMatchObject({ applied: true });
    expect(lost).toEqual(["the audit of approval.rejected"]);
  } finally {
    await client.end();
  }
});

test("every legal id of a session can be stopped, decided and erased, and no mail address stays in the audit", async () => {
  const { store } = backend;
  for (const id of ["an@example.com", "a.b:c-d_e", "@", "x".repeat(200), "127.0.0.1"]) {
    await store.sessions.create(actor, { id });
    ref = { tenant: "acme", session: id };
    const [first, second] = [
      await requestInteraction(backend, ref, "approval"),
      await requestInteraction(backend, ref, "approval"),
    ];
    expect(await decide(first, "approve", true)).toMatchObject({ applied: true });
    expect(await decide(second, "reject")).toMatchObject({ applied: true });
    expect(await eraseSession(backend, ref)).toBe(true);
  }
  expect(lost).toEqual([]);
  const rows = JSON.stringify(await store.audit.list("acme", { after: 0, limit: 1_000 }));
  for (const trace of ["example.com", "127.0.0.1"]) expect(rows).not.toContain(trace);
});
