/** The store contract of tenants and sessions. */
import { afterAll, beforeAll, describe, expect, test } from "vitest";

import type { Session } from "../../src/store/sessions.ts";
import type { Actor, SessionRef } from "../../src/util/refs.ts";
import type { ClosableStore } from "../../src/store/store.ts";
import {
  type Harness,
  type MakeStore,
  newSession,
  newTenant,
  unique,
  pendingErasures,
  isWhole,
} from "./harness.ts";
import { anInteraction } from "./interactions.contract.ts";

const TAKE = { limit: 100, leaseMs: 30_000, graceMs: 60_000 };

export function sessionsContract(name: string, makeStore: MakeStore): void {
  describe(`${name}: tenants and sessions`, () => {
    let harness: Harness;
    let store: ClosableStore;
    beforeAll(async () => {
      harness = await makeStore();
      store = harness.store;
    });
    afterAll(() => store.close());

    test("a tenant is created once", async () => {
      const id = await newTenant(store);
      expect(await store.tenants.get(id)).toMatchObject({ id, name: "A tenant" });
      await expect(store.tenants.create({ id, name: "B" })).rejects.toMatchObject({ code: "EXISTS" });
      expect(await store.tenants.get("missing")).toBeNull();
    });

    test("a session starts empty, with a number and an epoch before its first", async () => {
      const actor = { tenant: await newTenant(store), user: "an" };
      const id = unique("session");
      const { epoch, ...session } = await store.sessions.create(actor, {
        id,
        title: "Markets",
        firstEpoch: 500,
      });
      expect(epoch).toBe(499);
      expect(session).toMatchObject({ id, ...actor, title: "Markets", archived: "0-0" });
      expect(session.forkedFromShare).toBe(false);
      expect(session.createdAt).toBeLessThanOrEqual(session.updatedAt);
      expect(await store.sessions.get(actor, id)).toEqual(session);
      expect(await store.sessions.byNumber(actor, session.number)).toEqual(session);
      expect(await store.sessions.find({ tenant: actor.tenant, session: id })).toEqual({ ...session, epoch });
      const other = await store.sessions.create(actor, { id: unique("session") });
      expect(other.number).toBeGreaterThan(session.number);
      expect(other.epoch).toBeGreaterThanOrEqual(0);
      expect(other.epoch).toBeLessThan(2 ** 32 - 1);
    });

    test("an id is used once in its tenant", async () => {
      const { actor, ref } = await newSession(store);
      for (const user of [actor.user, "else"])
        await expect(store.sessions.create({ ...actor, user }, { id: ref.session })).rejects.toMatchObject({
          code: "EXISTS",
        });
      await expect(
        store.sessions.create({ ...actor, tenant: "none" }, { id: unique("session") }),
      ).rejects.toMatchObject({ code: "NOT_FOUND" });
    });

    test("numbers count the sessions of their tenant, also while many are created at once", async () => {
      const actors: Actor[] = [];
      for (let n = 0; n < 2; n++) actors.push({ tenant: await newTenant(store), user: "an" });
      const made = await Promise.all(
        Array.from({ length: 40 }, (_, n) =>
          store.sessions.create(actors[n % 2] as Actor, { id: `numbered-${n >> 1}` }),
        ),
      );
      for (const actor of actors) {
        const numbers = made.filter(({ tenant }) => tenant === actor.tenant).map(({ number }) => number);
        expect(numbers.toSorted((a, b) => a - b)).toEqual(Array.from({ length: 20 }, (_, n) => n + 1));
        const found = await store.sessions.byNumber(actor, 1);
        expect(found).toMatchObject({ tenant: actor.tenant, number: 1 });
      }
      const [first] = actors as [Actor];
      const copied = await store.transaction((tx) => tx.sessions.create(first, { id: "numbered-20" }));
      expect(copied.number).toBe(21);
    });

    test("refuses invalid arguments", async () => {
      const { actor, ref } = await newSession(store);
      for (const id of ["", "a\0b", "a b", "a/b", "é", "a\n", "12", ".", "..", "x".repeat(201)])
        await expect(store.sessions.create(actor, { id })).rejects.toMatchObject({ code: "INVALID" });
      for (const firstEpoch of [0, -1, 1.5, 2 ** 32])
        await expect(
          store.sessions.create(actor, { id: unique("session"), firstEpoch }),
        ).rejects.toMatchObject({ code: "INVALID" });
      for (const limit of [0, 101, 1.5, Number.NaN])
        await expect(store.sessions.list(actor, { limit })).rejects.toMatchObject({ code: "INVALID" });
      await expect(store.sessions.list(actor, { limit: 5, before: "junk" })).rejects.toMatchObject({
        code: "INVALID",
      });
      await expect(store.sessions.rename(actor, ref.session, "a\0")).rejects.toMatchObject({
        code: "INVALID",
      });
    });

    test("returns the owners of several sessions of one tenant", async () => {
      const { actor, ref } = await newSession(store);
      const other = { tenant: actor.tenant, user: unique("user") };
      const { id } = await store.sessions.create(other, { id: unique("session") });
      const foreign = await newSession(store);
      const ids = [ref.session, id, foreign.ref.session, unique("missing")];
      expect(await store.sessions.owners(actor.tenant, ids)).toEqual(
        new Map([
          [ref.session, actor.user],
          [id, other.user],
        ]),
      );
      await store.sessions.remove({ tenant: actor.tenant, session: id });
      expect(await store.sessions.owners(actor.tenant, [id])).toEqual(new Map());
      await expect(store.sessions.owners(actor.tenant, [])).rejects.toMatchObject({ code: "INVALID" });
    });

    test("tenants and users don't see each other's sessions", async () => {
      const { actor, ref } = await newSession(store);
      const foreign = { tenant: await newTenant(store), session: ref.session };
      expect(await store.sessions.find(ref)).toMatchObject({ id: ref.session });
      expect(await store.sessions.find(foreign)).toBeNull();
      expect(await store.sessions.get({ ...actor, user: "else" }, ref.session)).toBeNull();
      const { number } = (await store.sessions.find(ref)) ?? { number: 0 };
      expect(await store.sessions.byNumber({ ...actor, user: "else" }, number)).toBeNull();
      expect(await store.sessions.byNumber({ ...actor, tenant: foreign.tenant }, number)).toBeNull();
      expect(await store.sessions.get({ ...actor, tenant: foreign.tenant }, ref.session)).toBeNull();
      expect((await store.sessions.list({ ...actor, user: "else" }, { limit: 9 })).sessions).toEqual([]);
      expect(await store.sessions.remove(foreign)).toBe(false);
      for (const attempt of [
        () => store.sessions.rename({ ...actor, user: "else" }, ref.session, "Mine"),
        () => store.epochs.next(foreign, { seen: 0 }),
        () => store.archive.header(foreign),
        () => store.archive.window(foreign, 5),
        () => store.outbox.add(foreign, { key: "k", draft: { type: "session.update", title: "t" } }),
        () => store.blobs.put(foreign, { id: "b", mediaType: "t", body: new Uint8Array() }),
        () => store.shares.create({ ...actor, user: "else" }, ref.session),
      ])
        await expect(attempt()).rejects.toMatchObject({ code: "NOT_FOUND" });
    });

    test("renaming moves a session to the front", async () => {
      const { actor, ref } = await newSession(store);
      const second = await store.sessions.create(actor, { id: unique("session") });
      await harness.wait(5);
      const renamed = await store.sessions.rename(actor, ref.session, "New \ud800 name");
      expect(renamed.title).toBe("New \ufffd name");
      const order = async () => (await store.sessions.list(actor, { limit: 9 })).sessions.map((s) => s.id);
      expect(await order()).toEqual([ref.session, second.id]);
      await harness.wait(5);
      await store.sessions.rename(actor, second.id, "Second");
      expect(await order()).toEqual([second.id, ref.session]);
    });

    test("pages return every session once, although others are added and removed meanwhile", async () => {
      const { actor, ref } = await newSession(store);
      const made = [ref.session];
      for (let n = 0; n < 24; n += 1)
        made.unshift((await store.sessions.create(actor, { id: unique("session") })).id);
      const seen: Session[] = [];
      let before: string | undefined;
      for (;;) {
        const page = await store.sessions.list(actor, {
          limit: 4,
          ...(before === undefined ? {} : { before }),
        });
        seen.push(...page.sessions);
        expect(page.sessions.length).toBe(page.next === null ? 1 : 4);
        if (page.next === null) break;
        before = page.next;
        await harness.wait(2);
        await store.sessions.create(actor, { id: unique("session") });
        // Removes the first session of the list. It was already returned, so no other may shift.
        await store.sessions.rename(actor, seen[0]?.id ?? "", "Moved");
      }
      expect(new Set(seen.map((s) => s.id)).size).toBe(25);
      expect(seen.map((s) => s.id).toSorted()).toEqual(made.toSorted());
    });

    test("pages sessions of the same moment by id", async () => {
      const { actor } = await newSession(store);
      await store.transaction(async (tx) => {
        for (let n = 0; n < 9; n += 1) await tx.sessions.create(actor, { id: unique("session") });
      });
      const all = (await store.sessions.list(actor, { limit: 100 })).sessions;
      const paged: Session[] = [];
      let next: string | null = null;
      do {
        const page = await store.sessions.list(actor, {
          limit: 1,
          ...(next === null ? {} : { before: next }),
        });
        paged.push(...page.sessions);
        next = page.next;
      } while (next !== null);
      expect(paged).toEqual(all);
    });

    test("an erased session is removed, and recorded until its log is deleted", async () => {
      const { actor, ref } = await newSession(store);
      await store.queuedMessages.add(ref, { id: "m", text: "hello" });
      expect(await store.sessions.remove(ref)).toBe(true);
      expect(await store.sessions.remove(ref)).toBe(false);
      expect(await store.sessions.find(ref)).toBeNull();
      expect(await store.queuedMessages.list(ref)).toEqual([]);
      const pending = async () => (await pendingErasures(store)).map((e) => e.session);
      expect(await pending()).toContain(ref.session);
      await expect(store.sessions.create(actor, { id: ref.session })).rejects.toMatchObject({
        code: "EXISTS",
      });
      await harness.wait(5);
      expect(await store.sessions.erased(ref, { olderThanMs: 0 })).toBe(true);
      expect(await pending()).not.toContain(ref.session);
      await store.sessions.create(actor, { id: ref.session });
      expect(await store.queuedMessages.list(ref)).toEqual([]);
    });

    test.runIf(isWhole(name))("erases all sessions of a user or a tenant", async () => {
      const { actor, ref } = await newSession(store);
      const other = await store.sessions.create({ ...actor, user: "else" }, { id: unique("session") });
      expect(await store.sessions.removeUser(actor.tenant, actor.user)).toEqual([ref.session]);
      expect(await store.sessions.find({ ...ref, session: other.id })).not.toBeNull();
      expect(await store.tenants.remove(actor.tenant)).toEqual([other.id]);
      expect(await store.tenants.get(actor.tenant)).toBeNull();
      expect(await store.sessions.find({ ...ref, session: other.id })).toBeNull();
      const pending = (await pendingErasures(store)).map((e) => e.session);
      expect(pending).toEqual(expect.arrayContaining([ref.session, other.id]));
    });

    test("of two workers one takes an erasure, until its claim expires", async () => {
      while ((await store.sessions.takeErasures(TAKE)).length > 0);
      const made: string[] = [];
      for (let n = 0; n < 7; n += 1) {
        const { ref } = await newSession(store);
        await store.sessions.remove(ref);
        made.push(ref.session);
      }
      const take = async () =>
        (await store.sessions.takeErasures({ ...TAKE, limit: 3 })).map(({ session }) => session);
      const taken = (await Promise.all([take(), take(), take(), take()])).flat();
      // A worker that finds locked rows takes fewer.
      taken.push(...(await take()), ...(await take()), ...(await take()));
      expect(taken.toSorted()).toEqual(made.toSorted());
      await harness.wait(TAKE.leaseMs + 1_000);
      const later = (await store.sessions.takeErasures(TAKE)).map(({ session }) => session);
      expect(later).toEqual(expect.arrayContaining(made));
    });

    test("an erasure is taken at once, and again at the end of its grace period", async () => {
      while ((await store.sessions.takeErasures(TAKE)).length > 0);
      const { ref } = await newSession(store);
      await store.sessions.remove(ref);
      expect(await store.sessions.takeErasures(TAKE)).toEqual([ref]);
      expect(await store.sessions.erased(ref, { olderThanMs: TAKE.graceMs })).toBe(false);
      expect(await store.sessions.takeErasures(TAKE)).not.toContainEqual(ref);
      await harness.wait(TAKE.graceMs + 1_000);
      expect(await store.sessions.takeErasures(TAKE)).toContainEqual(ref);
      expect(await store.sessions.erased(ref, { olderThanMs: TAKE.graceMs })).toBe(true);
    });

    test("lists erasures, and deletes them by the store's clock", async () => {
      const made: SessionRef[] = [];
      for (let n = 0; n < 7; n += 1) {
        const { ref } = await newSession(store);
        await store.sessions.remove(ref);
        made.push(ref);
      }
      const ids = (await pendingErasures(store)).map(({ session }) => session);
      const all = made.map(({ session }) => session);
      expect(ids.filter((id) => all.includes(id)).toSorted()).toEqual(all.toSorted());
      const [first] = made as [SessionRef];
      expect(await store.sessions.erased(first, { olderThanMs: 600_000 })).toBe(false);
      expect((await pendingErasures(store)).map((one) => one.session)).toContain(first.session);
      await harness.wait(120_000);
      expect(await store.sessions.erased(first, { olderThanMs: 60_000 })).toBe(true);
      expect(await store.sessions.erased(first, { olderThanMs: 60_000 })).toBe(false);
      expect((await pendingErasures(store)).map((one) => one.session)).not.toContain(first.session);
    });

    test("erases old sessions, the oldest first", async () => {
      while ((await store.sessions.removeExpired({ olderThanMs: 0, limit: 1000 })).length > 0);
      const { actor, ref } = await newSession(store);
      await harness.wait(5);
      const make = async () => (await store.sessions.create(actor, { id: unique("session") })).id;
      const old = [await make(), await make()];
      const renamed = await make();
      await harness.wait(3_600_000);
      const fresh = await make();
      await harness.wait(5);
      await store.sessions.rename(actor, renamed, "Used");
      const query = { olderThanMs: 1_800_000, limit: 1000 };
      expect(await store.sessions.removeExpired({ ...query, limit: 1 })).toEqual([ref]);
      const second = (await store.sessions.removeExpired(query)).map(({ session }) => session);
      expect(second.toSorted()).toEqual(old.toSorted());
      expect(await store.sessions.removeExpired(query)).toEqual([]);
      const left = (await store.sessions.list(actor, { limit: 100 })).sessions.map(({ id }) => id);
      expect(left).toEqual([renamed, fresh]);
      const pending = (await pendingErasures(store)).map((erasure) => erasure.session);
      expect(pending).toEqual(expect.arrayContaining([ref.session, ...old]));
    });

    test.runIf(isWhole(name))("an erased user is named nowhere in the sessions of other users", async () => {
      const { actor, ref } = await newSession(store);
      const { ref: foreign } = await newSession(store);
      for (const at of [ref, foreign]) {
        await store.interactions.request(at, anInteraction("approval", { id: "i" }));
        await store.interactions.change(at, { id: "i", to: "approved", by: "former" });
        await store.queuedMessages.add(at, { id: "m", text: "hello", by: "former" });
        await store.queuedMessages.add(at, { id: "n", text: "hello", by: "here" });
      }
      const named = async (at: typeof ref) => [
        ...(await store.interactions.changes(at, "i")).map(({ by }) => by),
        ...(await store.queuedMessages.list(at)).map(({ by }) => by),
      ];
      expect(await store.sessions.removeUser(actor.tenant, "former")).toEqual([]);
      expect(await named(ref)).toEqual([null, null, "here"]);
      expect(await named(foreign)).toEqual(["former", "former", "here"]);
    });
  });
}
