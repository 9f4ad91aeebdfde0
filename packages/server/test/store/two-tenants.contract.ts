/**
 * The store contract of two tenants with equal ids: each function is called for both, with the same ids and with content
 * of their own. Both get the same results, and neither sees or changes anything of the other. A new function of a
 * part of the store fails this test until it has an entry here.
 */
import { paymentsOf } from "@turnstream/payments";
import { knowledgeOf } from "@turnstream/knowledge";
import { FEATURES } from "@turnstream/testkit/backend/test-features.ts";
import { expect, test } from "vitest";

import type { Actor, SessionRef } from "../../src/util/refs.ts";
import type { StartedTurn } from "../../src/store/turn-queue.ts";
import type { ClosableStore } from "../../src/store/store.ts";
import { batchOf, chat } from "./archive-batch.ts";
import { type MakeStore, newTenant, pendingErasures } from "./harness.ts";
import { anInteraction } from "./interactions.contract.ts";
import { aPayment, aReport } from "./test-payments.ts";
import { YEAR_MS } from "./start-turn.ts";
import { suite } from "./suite.ts";

/** One of the two tenants. All its content contains `mark`, and no id does. */
interface Side {
  readonly store: ClosableStore;
  readonly tenant: string;
  readonly actor: Actor;
  readonly ref: SessionRef;
  readonly mark: string;
  /** Values of earlier steps that are unique in the store. */
  readonly saved: Map<string, string>;
}

type Step = (side: Side) => Promise<unknown>;

/** An id of a row, and of everything else that a client or the runtime names. */
const ID = "same";
const OTHER = "ticket-5678";
const INTERACTION = anInteraction("approval", { id: ID, key: "key", schema: { type: "object" } });
const FORM = anInteraction("form", { id: "form", deadlineMs: 1 });
const PAYMENT = "payment";
const REQUEST = { route: "POST /sessions", key: "idempotency-key" };
const PAGE = { limit: 50 };

/** Each function once, in an order in which it finds what it works on. */
const steps: Readonly<Record<string, Step>> = {
  "tenants.get": ({ store, tenant }) => store.tenants.get(tenant),
  "sessions.create": async ({ store, actor, ref, mark }) => {
    await store.sessions.create(actor, { id: OTHER, title: mark, firstEpoch: 1 });
    return store.sessions.create(actor, { id: ref.session, title: mark, firstEpoch: 1 });
  },
  "sessions.get": ({ store, actor, ref }) => store.sessions.get(actor, ref.session),
  "sessions.owners": async ({ store, actor, ref }) => [
    ...(await store.sessions.owners(actor.tenant, [ref.session])),
  ],
  "sessions.byNumber": ({ store, actor }) => store.sessions.byNumber(actor, 2),
  "sessions.find": ({ store, ref }) => store.sessions.find(ref),
  "sessions.rename": ({ store, actor, ref, mark }) =>
    store.sessions.rename(actor, ref.session, `${mark} new`),
  "sessions.list": ({ store, actor }) => store.sessions.list(actor, PAGE),
  "epochs.next": ({ store, ref }) => store.epochs.next(ref, { seen: 1 }),
  "epochs.confirm": ({ store, ref }) => store.epochs.confirm(ref),
  "archive.write": ({ store, ref, mark }) =>
    store.archive.write(ref, { ...batchOf(chat(2, mark)), epoch: 2, checkpoint: checkpointOf(mark) }),
  "archive.header": ({ store, ref }) => store.archive.header(ref),
  "archive.window": ({ store, ref }) => store.archive.window(ref, 5),
  "archive.checkpoint": ({ store, ref }) => store.archive.checkpoint(ref),
  "archive.events": ({ store, ref }) => store.archive.events(ref, { after: 0, limit: 100 }),
  "turns.list": ({ store, ref }) => store.turns.list(ref, PAGE),
  "turns.get": async ({ store, ref }) =>
    store.turns.get(ref, (await store.turns.list(ref, PAGE))[0]?.id ?? "none"),
  "queuedMessages.add": async ({ store, ref, actor, mark }) => {
    for (const id of [ID, "second", "third"])
      await store.queuedMessages.add(ref, { id, text: mark, by: actor.user });
    return store.queuedMessages.add(ref, { id: ID, text: "again" });
  },
  "queuedMessages.list": ({ store, ref }) => store.queuedMessages.list(ref),
  "queuedMessages.remove": ({ store, ref }) => store.queuedMessages.remove(ref, "second"),
  "queue.retry": async ({ store, ref }) => {
    await store.queuedMessages.remove(ref, "third");
    return store.queue.retry(ref, { turn: ID, retries: "earlier" });
  },
  "running.get": ({ store, ref }) => store.running.get(ref),
  "running.forgive": ({ store, ref }) => store.running.forgive(ref, { turn: ID, attempts: 1 }),
  "running.requestStop": ({ store, ref, actor }) => store.running.requestStop(ref, { by: actor.user }),
  "journal.write": async ({ store, ref, mark }) => {
    await store.journal.write(ref, { turn: ID, key: "saved", value: mark, epoch: 2, isRetained: true });
    return store.journal.write(ref, { turn: ID, key: ID, value: mark, epoch: 2 });
  },
  "journal.read": ({ store, ref }) => store.journal.read(ref, ID),
  "journal.retained": ({ store, ref }) => store.journal.retained(ref, [ID]),
  "journal.close": ({ store, ref }) => store.journal.close(ref, ID),
  "outbox.add": ({ store, ref, mark }) => store.outbox.add(ref, { key: ID, draft: titleOf(mark) }),
  "outbox.undelivered": ({ store, ref }) => store.outbox.undelivered(ref, 5),
  "outbox.postpone": ({ store, ref }) => store.outbox.postpone(ref),
  "outbox.delivered": ({ store, ref }) => store.outbox.delivered(ref, ID, "2-99"),
  "outbox.isUndelivered": ({ store, ref }) => store.outbox.isUndelivered(ref, ID),
  "outbox.reopen": ({ store, ref }) => store.outbox.reopen(ref),
  "blobs.put": ({ store, ref, mark }) =>
    store.blobs.put(ref, { id: ID, mediaType: "text/plain", name: mark, body: Buffer.from(mark) }),
  "blobs.get": async ({ store, ref }) => {
    const blob = await store.blobs.get(ref, ID);
    return { ...blob, body: String(Buffer.from(blob?.body ?? [])) };
  },
  "blobs.find": async ({ store, ref }) => {
    const blob = await store.blobs.find(ref, ID);
    return { ...blob, body: String(Buffer.from(blob?.body ?? [])) };
  },
  "blobs.stageCopies": ({ store, ref }) => store.blobs.stageCopies(ref, { ...ref, session: OTHER }, [ID]),
  "blobs.copy": ({ store, ref }) => store.blobs.copy(ref, { ...ref, session: OTHER }, [ID]),
  "attachments.add": ({ store, ref, mark }) =>
    store.attachments.add(ref, {
      id: ID,
      name: mark,
      url: mark,
      mediaType: "text/plain",
      size: 3,
      isCut: false,
      turn: ID,
      text: [mark, mark],
    }),
  "attachments.get": ({ store, ref }) => store.attachments.get(ref, ID),
  "attachments.list": ({ store, ref }) => store.attachments.list(ref, PAGE),
  "attachments.pieces": ({ store, ref }) => store.attachments.pieces(ref, ID, { from: 0, limit: 5 }),
  "attachments.pieceAt": ({ store, ref }) => store.attachments.pieceAt(ref, ID, { char: 5 }),
  "uploads.begin": async ({ store, ref, actor, mark }) => {
    await store.uploads.begin(ref, { id: "started", name: mark, mediaType: "", by: actor.user });
    return store.uploads.begin(ref, { id: ID, name: mark, mediaType: "", by: actor.user });
  },
  "uploads.add": ({ store, ref, mark }) =>
    store.uploads.add(ref, ID, { attempt: 1, bytes: Buffer.from(mark) }),
  "uploads.complete": ({ store, ref }) => store.uploads.complete(ref, ID, 1),
  "uploads.completeDeclared": ({ store, ref }) => store.uploads.completeDeclared(ref, ID),
  "uploads.get": ({ store, ref }) => store.uploads.get(ref, ID),
  "uploads.chunk": async ({ store, ref }) =>
    String(Buffer.from((await store.uploads.chunk(ref, ID, 0)) ?? [])),
  "shares.create": async ({ store, actor, ref, saved }) => {
    const share = await store.shares.create(actor, ref.session);
    saved.set("share", share.id);
    return { ...share, id: ID };
  },
  "shares.find": async ({ store, saved }) => ({
    ...(await store.shares.find(saved.get("share") ?? "")),
    id: ID,
  }),
  "shares.list": async ({ store, actor, ref }) => (await store.shares.list(actor, ref.session)).length,
  "shares.listOwn": async ({ store, actor, ref }) => {
    const { shares } = await store.shares.listOwn(actor, { ...PAGE, session: ref.session });
    return shares.map((share) => ({ ...share, id: ID }));
  },
  "shares.revoke": ({ store, actor, saved }) => store.shares.revoke(actor, saved.get("share") ?? ""),
  "keys.create": async ({ store, tenant, mark, saved }) => {
    const { key, secret } = await store.keys.create(tenant, { name: mark, scopes: ["read"] });
    saved.set("key", key.id).set("secret", secret);
    return { ...key, id: ID };
  },
  "keys.verify": async ({ store, saved }) => (await store.keys.verify(saved.get("secret") ?? ""))?.tenant,
  "keys.live": async ({ store, saved }) => (await store.keys.live([saved.get("key") ?? ""])).size,
  "keys.list": async ({ store, tenant }) => (await store.keys.list(tenant)).map(({ name }) => name),
  "keys.revoke": ({ store, tenant, saved }) => store.keys.revoke(tenant, saved.get("key") ?? ""),
  "userNumbers.numberOf": async ({ store, tenant, actor, saved }) => {
    saved.set("number", String(await store.userNumbers.numberOf(tenant, actor.user)));
  },
  "userNumbers.nameOf": ({ store, tenant, saved }) =>
    store.userNumbers.nameOf(tenant, Number(saved.get("number"))),
  "userNumbers.forget": ({ store, tenant, actor }) => store.userNumbers.forget(tenant, actor.user),
  "interactions.request": async ({ store, ref, mark }) => {
    await store.interactions.request(ref, { ...FORM, request: mark });
    return store.interactions.request(ref, { ...INTERACTION, request: mark });
  },
  "interactions.get": ({ store, ref }) => store.interactions.get(ref, ID),
  "interactions.byKey": ({ store, ref }) => store.interactions.byKey(ref, "key"),
  "interactions.schema": ({ store, ref }) => store.interactions.schema(ref, ID),
  "interactions.change": ({ store, ref, actor, mark }) =>
    store.interactions.change(ref, { id: ID, to: "approved", by: actor.user, reason: mark, body: mark }),
  "interactions.changes": ({ store, ref }) => store.interactions.changes(ref, ID),
  "interactions.list": ({ store, ref }) => store.interactions.list(ref),
  "allowances.add": ({ store, ref, actor }) =>
    store.allowances.add(ref, { agent: ID, tool: ID, digest: "sha256:1", by: actor.user }),
  "allowances.find": ({ store, ref }) => store.allowances.find(ref, ID, ID),
  "allowances.list": ({ store, ref }) => store.allowances.list(ref),
  "allowances.remove": ({ store, ref }) => store.allowances.remove(ref, ID, ID),
  "formDrafts.save": ({ store, ref, mark }) => store.formDrafts.save(ref, FORM.id, mark),
  "formDrafts.get": ({ store, ref }) => store.formDrafts.get(ref, FORM.id),
  "payments.create": async ({ store, ref, mark, saved }) => {
    await store.interactions.request(ref, anInteraction("payment", { id: PAYMENT }));
    const wanted = aPayment({ id: PAYMENT, description: mark });
    saved.set("order", wanted.orderNo).set("token", wanted.tokenHash);
    return { ...(await paymentsOf(store).create(ref, wanted)).payment, orderNo: ID };
  },
  "payments.apply": async ({ store, saved }) => {
    const mismatch = aReport("succeeded", { paid: { amount: 1, currency: "TWD" } });
    return (await paymentsOf(store).apply(saved.get("order") ?? "", mismatch)).outcome;
  },
  "payments.get": async ({ store, ref }) => (await paymentsOf(store).get(ref, PAYMENT))?.description,
  "payments.getInTenant": async ({ store, tenant }) =>
    (await paymentsOf(store).getInTenant(tenant, PAYMENT))?.description,
  "payments.byToken": async ({ store, saved }) =>
    (await paymentsOf(store).byToken(saved.get("token") ?? ""))?.description,
  "payments.byOrderNo": async ({ store, saved }) =>
    (await paymentsOf(store).byOrderNo(saved.get("order") ?? ""))?.description,
  "payments.list": async ({ store, ref }) =>
    (await paymentsOf(store).list(ref)).map((one) => one.description),
  "payments.changes": async ({ store, ref }) => (await paymentsOf(store).changes(ref, PAYMENT)).length,
  "payments.flagged": async ({ store, tenant }) =>
    (await paymentsOf(store).flagged(tenant)).map((one) => one.description),
  "payments.resolveFlag": async ({ store, tenant, mark }) =>
    (await paymentsOf(store).resolveFlag(tenant, PAYMENT, { by: "operator", note: mark }))?.resolved,
  "payments.claimQuery": ({ store, ref }) => paymentsOf(store).claimQuery(ref, PAYMENT, 60_000),
  "payments.setProviderRef": ({ store, ref, mark }) => paymentsOf(store).setProviderRef(ref, PAYMENT, mark),
  "usage.add": ({ store, tenant }) =>
    store.usage.add(tenant, { key: ID, apiKey: ID, day: "2026-01-01", turns: 1, ...USAGE }),
  "usage.list": ({ store, tenant }) => store.usage.list(tenant, "2026-01-01", "2026-01-02"),
  "usage.listUser": ({ store, actor }) => store.usage.listUser(actor, "2026-01-01", "2026-01-02"),
  "usage.listKey": ({ store, tenant }) => store.usage.listKey(tenant, ID, "2026-01-01", "2026-01-02"),
  "limits.replace": ({ store, tenant, actor }) =>
    store.limits.replace(tenant, { scope: "user", user: actor.user }, "admin", { sockets: 3 }),
  "limits.find": ({ store, actor }) => store.limits.find(actor),
  "limits.list": ({ store, tenant }) => store.limits.list(tenant),
  "limits.findExceeded": ({ store, actor }) =>
    store.limits.findExceeded({ ...actor, apiKey: ID }, byScope(TURN_LIMITS)),
  "limits.findExceededUsage": ({ store, actor }) =>
    store.limits.findExceededUsage({ ...actor, apiKey: ID }, byScope(TURN_LIMITS)),
  "limits.findExceededBytes": ({ store, actor }) =>
    store.limits.findExceededBytes({ ...actor, apiKey: ID }, byScope(MANY)),
  "audit.add": async ({ store, tenant, ref }) =>
    (
      await store.audit.add(tenant, {
        actor: null,
        action: "approval.rejected",
        subject: { session: ref.session },
      })
    )?.n,
  "audit.addOnce": async ({ store, tenant }) =>
    (await store.audit.addOnce(tenant, ID, { actor: null, action: "share.read", subject: {} }))?.n,
  "audit.list": async ({ store, tenant }) => (await store.audit.list(tenant, { after: 0, limit: 9 })).length,
  "audit.head": async ({ store, tenant }) => (await store.audit.head(tenant))?.n,
  "audit.start": ({ store, tenant }) => store.audit.start(tenant),
  "memories.save": ({ store, actor, mark }) => store.memories.save(actor, { id: ID, text: mark }),
  "memories.list": ({ store, actor }) => store.memories.list(actor),
  "memories.change": ({ store, actor, mark }) => store.memories.change(actor, ID, { text: `${mark} new` }),
  "memories.remove": ({ store, actor }) => store.memories.remove(actor, ID),
  "memories.removeAll": ({ store, actor }) => store.memories.removeAll(actor),
  "knowledge.put": ({ store, tenant, mark }) =>
    knowledgeOf(store).put(tenant, "base", { id: ID, title: mark, text: `word ${mark}` }),
  "knowledge.list": ({ store, tenant }) => knowledgeOf(store).list(tenant, "base", PAGE),
  "knowledge.bases": ({ store, tenant }) => knowledgeOf(store).bases(tenant),
  "knowledge.search": ({ store, tenant }) =>
    knowledgeOf(store).search(tenant, ["base"], { text: "word", limit: 5 }),
  "knowledge.lines": ({ store, tenant }) => knowledgeOf(store).lines(tenant, "base", ID, { from: 1, to: 2 }),
  "tickets.redeem": ({ store, tenant }) => store.tickets.redeem(tenant, ID, 4_000_000_000_000),
  "idempotency.begin": async ({ store, actor, ref, saved }) => {
    const started = await store.idempotency.begin(actor, { ...REQUEST, digest: "d", session: ref.session });
    saved.set("claim", started.state === "yours" ? started.claim : "");
    return started.state;
  },
  "idempotency.release": async ({ store, actor, saved }) => {
    await store.idempotency.release(actor, REQUEST, saved.get("claim") ?? "");
    const started = await store.idempotency.begin(actor, { ...REQUEST, digest: "d" });
    saved.set("claim", started.state === "yours" ? started.claim : "");
  },
  "idempotency.finish": async ({ store, actor, mark, saved }) => {
    const answer = { status: 201, body: mark };
    await store.idempotency.finish(actor, REQUEST, saved.get("claim") ?? "", answer);
    return store.idempotency.begin(actor, { ...REQUEST, digest: "d" });
  },
  "webhooks.create": async ({ store, tenant, saved }) => {
    const { endpoint } = await store.webhooks.create(tenant, { url: "https://receiver.example/" });
    saved.set("endpoint", endpoint.id);
    return endpoint.url;
  },
  "webhooks.list": async ({ store, tenant }) => (await store.webhooks.list(tenant)).length,
  "webhooks.enqueue": ({ store, ref, mark }) =>
    store.webhooks.enqueue(ref, { type: "turn.ended", key: ID, data: { turn_id: mark } }),
  "webhooks.deliveries": async ({ store, tenant, saved }) => {
    const [delivery] = (await store.webhooks.deliveries(tenant, saved.get("endpoint") ?? "", PAGE)) ?? [];
    saved.set("delivery", delivery?.id ?? "");
    return [delivery?.session, delivery?.state];
  },
  "webhooks.replay": async ({ store, tenant, saved }) =>
    (await store.webhooks.replay(tenant, saved.get("endpoint") ?? "", saved.get("delivery") ?? ""))?.session,
};

const MANY = 1_000_000_000;
const byScope = <Limits>(limits: Limits) => ({ user: limits, key: limits, tenant: limits });
/** Far above what the steps use. */
const TURN_LIMITS = {
  queuedMessages: MANY,
  runningTurns: MANY,
  tokensPerDay: MANY,
  tokensPerMonth: MANY,
  costPerDay: MANY,
  costPerMonth: MANY,
};
const USAGE = { calls: 1, input_tokens: 1, output_tokens: 1, total_tokens: 2 };

function titleOf(mark: string) {
  return { type: "session.update", title: mark } as const;
}

function checkpointOf(mark: string) {
  const { header } = batchOf(chat(1, mark));
  return { ...header, turns: [] } as never;
}

const EXECUTOR = "executor";

let started: readonly StartedTurn[] = [];

/** Starts the turns of both. */
async function startTurns(store: ClosableStore): Promise<readonly StartedTurn[]> {
  await store.leases.take(EXECUTOR, YEAR_MS);
  started = await store.queue.start({ executor: EXECUTOR, agents: [], limit: 50, isIdle: false });
  return started;
}

const rowsOf = (turns: readonly StartedTurn[]) => turns.map(({ row }) => row);

/** The functions over all tenants, in an order in which both have what they return: the sessions of both. */
const overAll: Readonly<Record<string, (store: ClosableStore, sides: readonly Side[]) => Promise<unknown>>> =
  {
    "running.stopping": (store) => store.running.stopping(PAGE),
    "running.startable": async (store, sides) => {
      for (const { ref } of sides) await store.queue.end(ref, ID);
      return store.running.startable({ olderThanMs: 0, limit: 50 });
    },
    "queue.start": async (store) => rowsOf(await startTurns(store)),
    "queue.held": (store) => store.queue.held(EXECUTOR),
    "running.interrupted": async (store, sides) => {
      await store.leases.take(EXECUTOR, 0);
      return store.running.interrupted(sides.map(({ ref }) => ref));
    },
    "queue.recover": async (store) => {
      expect(await store.queue.recover(EXECUTOR, { limit: 50 })).toBe(2);
      return rowsOf(await startTurns(store));
    },
    "queue.park": async (store, sides) => {
      for (const { ref } of sides) {
        expect(await store.running.get(ref)).toMatchObject({ deaths: 1, attempts: 2 });
      }
      await store.queue.release(started.map(({ held }) => held));
      for (const { held, row } of await startTurns(store))
        expect(await store.queue.park(held, row.turn, { wakeAt: null })).toBe(true);
      for (const { ref } of sides) expect(await store.queue.wake(ref)).toBe(true);
      return rowsOf(await startTurns(store));
    },
    "queue.dead": async (store) => {
      for (const { row } of started) await store.queue.bury(row, row.turn);
      return store.queue.dead(PAGE);
    },
    "outbox.take": (store) => store.outbox.take({ olderThanMs: 0, leaseMs: 60_000, limit: 50 }),
    "outbox.takeUnarchived": async (store, sides) => {
      for (const { ref } of sides) await store.outbox.add(ref, { key: "published", draft: titleOf("x") });
      for (const { ref } of sides) await store.outbox.delivered(ref, "published", "2-99");
      return store.outbox.takeUnarchived({ olderThanMs: 0, leaseMs: 60_000, limit: 50 });
    },
    "interactions.overdueForms": (store) => store.interactions.overdueForms(PAGE),
    "payments.due": (store) => paymentsOf(store).due(PAGE),
    "webhooks.take": (store) => store.webhooks.take({ limit: 50, perEndpoint: 5, leaseMs: 60_000 }),
    "sessions.removeExpired": async (store) =>
      (await store.sessions.removeExpired({ olderThanMs: 0, limit: 50 })).filter(
        (one) => one.session !== OTHER,
      ),
  };

/** The functions that the tests below call for one of the tenants. */
const FOR_ONE: readonly string[] = [
  "tenants.create",
  "tenants.remove",
  "sessions.remove",
  "sessions.removeUser",
  "sessions.takeErasures",
  "sessions.erased",
  "queue.again",
  "queue.bury",
  "queue.end",
  "queue.wake",
  "uploads.remove",
  "knowledge.remove",
  "knowledge.removeBase",
  "webhooks.remove",
  "webhooks.settle",
];

/** They delete by age, belong to the deployment, return the tenant, or take a key that contains tenant and session. */
const WITHOUT_TENANT: readonly string[] = [
  "objects.write",
  "objects.release",
  "objects.signUpload",
  "objects.signDownload",
  "objects.sweep",
  "objects.findUnknown",
  "objects.deleteUnknown",
  "outbox.prune",
  "queuedMessages.prune",
  "archive.maintain",
  "audit.maintain",
  "uploads.prune",
  "shares.prune",
  "usage.pruneMarks",
  "tickets.sweep",
  "idempotency.sweep",
  "webhooks.prune",
  "features.requireTables",
  "keys.tenantOf",
  "leases.take",
  "leases.renew",
  "leases.hold",
  "leases.expired",
  "leases.status",
  "leases.clock",
  "leases.otherReachesLog",
  "leases.takeDead",
  "leases.release",
  "queue.wakeDue",
  "queue.leave",
  "queue.release",
  "agents.register",
  "agents.isKnown",
  "agents.list",
  "agents.remove",
];

/** The steps that only read, and name nothing that is unique in the store. */
const reads = Object.entries(steps).filter(([name]) =>
  /\.(get|byNumber|find|list|header|window|checkpoint|events|open|read|retained|undelivered|pieces|pieceAt|chunk|byKey|schema|changes|bases|search|lines|head|getInTenant|flagged)$/.test(
    name,
  ),
);

/** A number that counts over all tenants, a hash of content, and the key of a share. */
const UNCOMPARED = new Set(["n", "hash", "key"]);

function transcript(value: unknown, { tenant, mark }: Side): string {
  // Undefined for a function without a result.
  const json: string | undefined = JSON.stringify(value, (key, field: unknown) => {
    if (UNCOMPARED.has(key)) return 0;
    if (key === "id" && typeof field === "number") return 0;
    return typeof field === "number" && field > 1e12 ? 0 : field;
  });
  return (json ?? "").replaceAll(tenant, "TENANT").replaceAll(mark, "MARK");
}

async function newSides(store: ClosableStore): Promise<readonly [Side, Side]> {
  const make = async (mark: string): Promise<Side> => {
    const tenant = await newTenant(store);
    const ref = { tenant, session: "ticket-1234" };
    return { store, tenant, actor: { tenant, user: "an" }, ref, mark, saved: new Map() };
  };
  return [await make("acmecanary"), await make("evilcanary")];
}

/** Runs every step for both. */
async function runSteps([acme, evil]: readonly [Side, Side]): Promise<void> {
  for (const [name, step] of Object.entries(steps)) {
    const [one, other] = [await step(acme), await step(evil)];
    expect([name, transcript(one, acme)]).toEqual([name, transcript(other, evil)]);
    expect(transcript(one, acme)).not.toContain(evil.mark);
  }
}

async function readAll(side: Side): Promise<string[]> {
  const results: string[] = [];
  for (const [name, step] of reads) results.push(`${name} ${JSON.stringify(await step(side))}`);
  return results;
}

export function twoTenantsContract(name: string, makeStore: MakeStore): void {
  suite(name, "two tenants with equal ids", makeStore, (store, advance) => {
    test("every function of every part of the store is covered", () => {
      const parts = { ...store(), knowledge: knowledgeOf(store()), payments: paymentsOf(store()) };
      const features = FEATURES.flatMap(({ tables }) => tables?.feature ?? []);
      expect(Object.keys(parts)).toEqual(expect.arrayContaining(features));
      const all = Object.entries(parts).flatMap(([port, methods]) =>
        typeof methods === "function" ? [] : Object.keys(methods).map((method) => `${port}.${method}`),
      );
      const covered = [...Object.keys(steps), ...Object.keys(overAll), ...FOR_ONE, ...WITHOUT_TENANT];
      expect(covered.toSorted()).toEqual(all.toSorted());
    });

    test("both get the same results, and nothing of the other", async () => {
      const sides = await newSides(store());
      await runSteps(sides);
      await advance(3_700_000);
      for (const [method, call] of Object.entries(overAll)) {
        const found = (await call(store(), sides)) as readonly SessionRef[];
        for (const { tenant, ref } of sides)
          expect([method, found.filter((one) => one.tenant === tenant)]).toMatchObject([method, [ref]]);
      }
    });

    test("erasing the session, the user or the tenant of one leaves the other unchanged", async () => {
      const sides = await newSides(store());
      await runSteps(sides);
      const [acme, evil] = sides;
      const before = await readAll(acme);
      expect(before.join("\n")).toContain(acme.mark);
      for (const erase of erasures) {
        await erase(evil, store());
        expect(await readAll(acme)).toEqual(before);
      }
      const pending = (await pendingErasures(store())).map(({ tenant }) => tenant);
      expect(pending).toContain(evil.tenant);
      expect(pending).not.toContain(acme.tenant);
    });
  });
}

/** What one tenant deletes: each in turn, and all of it at the end. */
const erasures: readonly ((side: Side, store: ClosableStore) => Promise<unknown>)[] = [
  ({ ref }, store) => store.queue.end(ref, ID),
  ({ ref }, store) => store.queuedMessages.remove(ref, ID),
  ({ ref }, store) => store.uploads.remove(ref, ID),
  async ({ tenant, saved }, store) => {
    const claimed = await store.webhooks.take({ limit: 50, perEndpoint: 5, leaseMs: 60_000 });
    const own = claimed.find((delivery) => delivery.tenant === tenant);
    if (own === undefined) throw new Error("the tenant has a delivery");
    await store.webhooks.settle(own, { delivered: true, status: 200, error: null });
    const endpoint = saved.get("endpoint") ?? "";
    expect(await store.webhooks.deliveries(tenant, endpoint, PAGE)).toMatchObject([{ state: "delivered" }]);
    await store.webhooks.remove(tenant, endpoint);
  },
  ({ tenant }, store) => knowledgeOf(store).remove(tenant, "base", ID),
  ({ tenant }, store) => knowledgeOf(store).removeBase(tenant, "base"),
  async ({ ref, actor }, store) => {
    expect(await store.sessions.remove(ref)).toBe(true);
    await expect(store.sessions.create(actor, { id: ref.session })).rejects.toMatchObject({ code: "EXISTS" });
    expect(await store.sessions.erased(ref, { olderThanMs: 0 })).toBe(true);
    await store.sessions.create(actor, { id: ref.session });
  },
  async ({ tenant, actor, ref }, store) =>
    expect(await store.sessions.removeUser(tenant, actor.user)).toEqual([ref.session, OTHER]),
  ({ tenant }, store) => store.tenants.remove(tenant),
];
