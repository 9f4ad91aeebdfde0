/** The store contract of invalid arguments: ambiguous ids and invalid numbers. */
import { expect, test } from "vitest";

import { createMemoryLog } from "../../src/log/memory.ts";
import { isStoreError } from "../../src/store/errors.ts";
import type { ClosableStore } from "../../src/store/store.ts";
import { type MakeStore, newSession, newTenant, unique } from "./harness.ts";
import { anInteraction } from "./interactions.contract.ts";
import { suite } from "./suite.ts";

export const BAD_IDS = ["a\0", "\ud800", "x\udfff", "\udfffx", "", "x".repeat(257), ".", ".."];
export const BAD_COUNTS = [Number.NaN, 1.5, -1, 1e15, Number.POSITIVE_INFINITY];

type Work = () => Promise<unknown>;

/** Returns the source of calls that are not refused. */
export async function taken(works: readonly Work[]): Promise<string[]> {
  const found: string[] = [];
  for (const work of works) {
    const error = await work().then(
      () => null,
      (thrown: unknown) => thrown,
    );
    if (!isStoreError(error, "INVALID")) found.push(`${work.toString()}: ${String(error)}`);
  }
  return found;
}

function succeeds(work: Promise<unknown>): Promise<boolean> {
  return work.then(
    () => true,
    () => false,
  );
}

export function argumentsContract(name: string, makeStore: MakeStore): void {
  suite(name, "arguments", makeStore, (store) => {
    test("refuses a user name with half a surrogate pair", async () => {
      const { tenant } = (await newSession(store())).actor;
      expect(
        await taken([
          () => store().sessions.create({ tenant, user: "\ud800" }, { id: unique("session") }),
          () => store().sessions.list({ tenant, user: "\udfff" }, { limit: 5 }),
          () => store().userNumbers.numberOf(tenant, "\ud800"),
        ]),
      ).toEqual([]);
      const user = "a\u{1f600}";
      const { id } = await store().sessions.create({ tenant, user }, { id: unique("session") });
      expect((await store().sessions.list({ tenant, user }, { limit: 5 })).sessions).toMatchObject([{ id }]);
    });

    test.each(BAD_IDS)("refuses an invalid id in every argument: %j", async (bad) => {
      const { actor, ref } = await newSession(store());
      expect(
        await taken([...byId(store(), bad), ...byRef(store(), { ...ref, session: bad }, actor)]),
      ).toEqual([]);
      expect(await taken(byRef(store(), { ...ref, tenant: bad }, { ...actor, tenant: bad }))).toEqual([]);
      expect(
        await taken([
          () => store().sessions.get(actor, bad),
          () => store().sessions.rename(actor, bad, "title"),
          () => store().sessions.get({ ...actor, user: bad }, ref.session),
          () => store().queuedMessages.add(ref, { id: bad, text: "t" }),
          () => store().queuedMessages.add(ref, { id: "m", text: "t", by: bad }),
          () => store().queuedMessages.remove(ref, bad),
          () => store().queue.retry(ref, { turn: bad, retries: "t" }),
          () => store().queue.retry(ref, { turn: "t", retries: bad }),
          () => store().queue.end(ref, bad),
          () => store().queue.held(bad),
          () => store().running.requestStop(ref, { turn: bad }),
          () => store().running.requestStop(ref, { by: bad }),
          () => store().journal.read(ref, bad),
          () => store().journal.retained(ref, ["t", bad]),
          () => store().journal.close(ref, bad),
          () => store().journal.write(ref, { turn: bad, key: "k", value: 1, epoch: 1 }),
          () => store().journal.write(ref, { turn: "t", key: bad, value: 1, epoch: 1 }),
          () => store().queue.leave(bad),
          () => store().blobs.get(ref, bad),
          () => store().blobs.put(ref, { id: bad, mediaType: "t", body: new Uint8Array(1) }),
          () => store().blobs.copy(ref, ref, ["b", bad]),
          () => store().interactions.get(ref, bad),
          () => store().interactions.byKey(ref, bad),
          () => store().interactions.changes(ref, bad),
          () => store().interactions.request(ref, anInteraction("form", { id: bad })),
          () => store().interactions.change(ref, { id: "i", to: "approved", by: bad }),
          () => store().shares.create(actor, bad),
          () => store().shares.create(actor, ref.session, { id: bad }),
          () => store().shares.revoke(actor, bad),
          () => store().shares.list(actor, bad),
          () => store().keys.revoke(ref.tenant, bad),
          () => store().outbox.delivered(ref, bad, "1-1"),
          () => store().sessions.removeUser(ref.tenant, bad),
          () => store().userNumbers.forget(ref.tenant, bad),
        ]),
      ).toEqual([]);
    });

    test("refuses invalid numbers", async () => {
      const { ref } = await newSession(store());
      const { tenant } = ref;
      const asked = anInteraction("approval");
      await store().interactions.request(ref, asked);
      for (const bad of BAD_COUNTS)
        expect(
          await taken([
            () => store().interactions.list(ref, { after: bad }),
            () => store().interactions.change(ref, { id: asked.id, to: "approved", expectVersion: bad }),
            () => store().interactions.request(ref, anInteraction("form", { deadlineMs: bad })),
            () => store().interactions.request(ref, anInteraction("form", { index: bad })),
            () => store().audit.list(tenant, { after: bad, limit: 5 }),
            () => store().userNumbers.nameOf(tenant, bad),
            () => store().turns.list(ref, { limit: 5, before: bad }),
            () => store().leases.take("e", bad),
            () => store().leases.renew("e", bad),
            () => store().leases.otherReachesLog("e", bad),
            () => store().running.startable({ olderThanMs: bad, limit: 5 }),
            () => store().journal.write(ref, { turn: "t", key: "k", value: 1, epoch: bad }),
            () => store().sessions.removeExpired({ olderThanMs: bad, limit: 5 }),
            () => store().sessions.erased(ref, { olderThanMs: bad }),
            () => store().sessions.takeErasures({ limit: 5, leaseMs: bad, graceMs: 0 }),
            () => store().sessions.takeErasures({ limit: 5, leaseMs: 0, graceMs: bad }),
            () => store().usage.pruneMarks({ olderThanMs: bad, limit: 5 }),
            () => store().keys.create(tenant, { name: "k", scopes: [], expiresAt: bad }),
          ]),
        ).toEqual([]);
      // A whole number, but beyond the range of times.
      expect(
        await taken([
          () => store().sessions.removeExpired({ olderThanMs: 9e14, limit: 5 }),
          () => store().leases.take("e", 9e14),
          () => store().keys.create(tenant, { name: "k", scopes: [], expiresAt: 9e14 }),
        ]),
      ).toEqual([]);
      expect(await store().sessions.removeExpired({ olderThanMs: 3e12, limit: 5 })).toEqual([]);
      const before = Buffer.from("999999999999999 a").toString("base64url");
      expect(
        await taken([() => store().sessions.list({ tenant, user: "an" }, { limit: 5, before })]),
      ).toEqual([]);
    });

    test("accepts the same session ids as the log", async () => {
      const actor = { tenant: await newTenant(store()), user: "an" };
      const log = createMemoryLog();
      const ids = [
        "a",
        "A.b@c:d-e_f",
        "x".repeat(200),
        "x".repeat(201),
        "a/b",
        "a b",
        "a{b}",
        "é",
        "a\n",
        "a%",
        "1.2",
        "12",
        ".",
        "..",
        "...",
        ".a",
      ];
      for (const id of ids) {
        const stored = await succeeds(store().sessions.create(actor, { id }));
        expect([id, stored]).toEqual([id, await succeeds(log.head({ tenant: actor.tenant, session: id }))]);
        const isLegal = /^[\w.@:-]{1,200}$/.test(id) && !["12", ".", ".."].includes(id);
        expect([id, stored]).toEqual([id, isLegal]);
      }
    });
  });
}

/** The calls that take only an id. */
function byId(store: ClosableStore, id: string) {
  return [
    () => store.tenants.get(id),
    () => store.tenants.create({ id, name: "T" }),
    () => store.tenants.remove(id),
    () => store.sessions.erased({ tenant: id, session: id }, { olderThanMs: 0 }),
    () => store.shares.find(id),
    () => store.leases.take(id, 5),
    () => store.leases.renew(id, 5),
    () => store.leases.takeDead("e", id),
    () => store.leases.release(id, id),
    () => store.keys.list(id),
    () => store.keys.live([id]),
    () => store.userNumbers.nameOf(id, 1),
    () => store.usage.list(id, "2026-01-01", "2026-01-02"),
    () => store.audit.list(id, { after: 0, limit: 5 }),
    () => store.audit.head(id),
    () => store.audit.add(id, { actor: null, action: "memory.edit", subject: {} }),
  ];
}

function byRef(
  store: ClosableStore,
  ref: { tenant: string; session: string },
  actor: { tenant: string; user: string },
) {
  return [
    () => store.sessions.find(ref),
    () => store.sessions.remove(ref),
    () => store.sessions.get(actor, ref.session),
    () => store.epochs.next(ref, { seen: 0 }),
    () => store.archive.header(ref),
    () => store.archive.events(ref, { after: 0, limit: 5 }),
    () => store.turns.list(ref, { limit: 5 }),
    () => store.turns.get(ref, "t"),
    () => store.queuedMessages.list(ref),
    () => store.blobs.get(ref, "b"),
    () => store.interactions.list(ref),
    () => store.outbox.undelivered(ref, 5),
  ];
}
