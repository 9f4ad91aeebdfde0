/** The store contract of queued messages, blobs, leases and shares. */
import { afterAll, beforeAll, describe, expect, test } from "vitest";

import { MAX_BLOB_BYTES } from "../../src/store/blobs.ts";
import type { ClosableStore } from "../../src/store/store.ts";
import { batchOf, chat } from "./archive-batch.ts";
import { type Harness, type MakeStore, newSession, unique, isWhole } from "./harness.ts";
import { startTurn } from "./start-turn.ts";

export function sessionPartsContract(name: string, makeStore: MakeStore): void {
  describe(`${name}: queued messages, blobs, leases, shares`, () => {
    let harness: Harness;
    let store: ClosableStore;
    beforeAll(async () => {
      harness = await makeStore();
      store = harness.store;
    });
    afterAll(() => store.close());

    test("messages are queued in the order of arrival, and each id is accepted once", async () => {
      const { ref } = await newSession(store);
      const files = [{ url: "https://example.com/a" }];
      expect(await store.queuedMessages.add(ref, { id: "z", text: "first \0 \ud800", files, by: "an" })).toBe(
        "added",
      );
      expect(await store.queuedMessages.add(ref, { id: "a", text: "second", resumes: "f1" })).toBe("added");
      expect(await store.queuedMessages.add(ref, { id: "z", text: "other" })).toBe("already");
      const [first, second, ...more] = await store.queuedMessages.list(ref);
      expect(more).toEqual([]);
      expect(first).toMatchObject({ id: "z", text: "first \0 \ud800", files, by: "an", resumes: null });
      expect(second).toMatchObject({ id: "a", text: "second", files: [], by: null, resumes: "f1" });
      expect((await startTurn(store, ref))?.row.message).toEqual(first);
      expect(await store.queuedMessages.remove(ref, "z")).toBe(false);
      expect(await store.queuedMessages.remove(ref, "a")).toBe(true);
      expect(await store.queuedMessages.remove(ref, "a")).toBe(false);
      for (const id of ["z", "a"])
        expect(await store.queuedMessages.add(ref, { id, text: "again" })).toBe("already");
      expect(await store.queuedMessages.list(ref)).toEqual([]);
    });

    test.runIf(isWhole(name))(
      "forgets the ids of messages some time after they were taken, and no queued ones",
      async () => {
        const { ref } = await newSession(store);
        while ((await store.queuedMessages.prune({ olderThanMs: 0, limit: 1000 })) > 0);
        for (const id of ["taken", "queued"]) await store.queuedMessages.add(ref, { id, text: "t" });
        await startTurn(store, ref);
        await harness.wait(5);
        expect(await store.queuedMessages.prune({ olderThanMs: 3_600_000, limit: 1000 })).toBe(0);
        expect(await store.queuedMessages.add(ref, { id: "taken", text: "t" })).toBe("already");
        expect(await store.queuedMessages.prune({ olderThanMs: 0, limit: 1000 })).toBe(1);
        expect((await store.queuedMessages.list(ref)).map(({ id }) => id)).toEqual(["queued"]);
        expect(await store.queuedMessages.add(ref, { id: "taken", text: "t" })).toBe("added");
      },
    );

    test("lists the next ones of many messages", async () => {
      const { ref } = await newSession(store);
      await store.transaction(async (tx) => {
        for (let n = 0; n < 1001; n += 1) await tx.queuedMessages.add(ref, { id: `${n}`, text: "t" });
      });
      const listed = await store.queuedMessages.list(ref);
      expect(listed.map(({ id }) => id)).toEqual(Array.from({ length: 1000 }, (_, n) => `${n}`));
    });

    test("a blob is stored once and returned unchanged", async () => {
      const { ref } = await newSession(store);
      const body = new Uint8Array(70_000).map((_, n) => n % 251);
      const blob = { id: "b", mediaType: "application/octet-stream", body };
      expect(await store.blobs.put(ref, blob)).toBe("stored");
      expect(await store.blobs.put(ref, { ...blob, body: new Uint8Array(1) })).toBe("already");
      expect(await store.blobs.get(ref, "b")).toEqual(blob);
      const small = { ...blob, id: "s", body: new Uint8Array([1, 2, 3]) };
      await store.blobs.put(ref, small);
      const read = await store.blobs.get(ref, "s");
      expect(read).toEqual(small);
      // The buffer has exactly these bytes. A shared pool would expose bytes of other blobs.
      expect(read?.body.buffer.byteLength).toBe(3);
      expect(await store.blobs.get(ref, "c")).toBeNull();
      expect(await store.blobs.get({ ...ref, tenant: "else" }, "b")).toBeNull();
      const large = { ...blob, id: "l", body: new Uint8Array(MAX_BLOB_BYTES + 1) };
      await expect(store.blobs.put(ref, large)).rejects.toMatchObject({ code: "TOO_LARGE" });
    });

    test("blobs are copied within a tenant only", async () => {
      const { actor, ref } = await newSession(store);
      const { ref: foreign } = await newSession(store);
      const { id } = await store.sessions.create(actor, { id: unique("session") });
      const to = { ...ref, session: id };
      for (const blob of ["a", "b", "later"])
        await store.blobs.put(ref, { id: blob, mediaType: "text/plain", body: Buffer.from(blob) });
      expect(await store.blobs.copy(ref, to, ["a", "b", "none"])).toBe(2);
      expect(await store.blobs.copy(ref, to, ["a", "b"])).toBe(0);
      expect(await store.blobs.get(to, "later")).toBeNull();
      expect((await store.blobs.get(to, "a"))?.body).toEqual(new Uint8Array(Buffer.from("a")));
      await expect(store.blobs.copy(ref, foreign, ["a"])).rejects.toMatchObject({ code: "NOT_FOUND" });
    });

    test("an expired lease is taken over by one executor, and its owner can't renew it", async () => {
      const [dead, one, two] = [unique("exec"), unique("exec"), unique("exec")];
      expect(await store.leases.renew(dead, 100_000)).toBe(false);
      expect(await store.leases.take(dead, 150_000)).toBe(true);
      for (const id of [one, two]) await store.leases.take(id, 60_000_000);
      expect(await store.leases.renew(dead, 150_000)).toBe(true);
      expect(await store.leases.expired(100)).toEqual([]);
      expect(await store.leases.takeDead(dead, one)).toBe(false);
      await harness.wait(170_000);
      expect(await store.leases.expired(100)).toEqual([dead]);
      const takes = await Promise.all([one, two, one, two].map((by) => store.leases.takeDead(dead, by)));
      // The same executor can take it again, because the first response may have been lost.
      expect(takes.filter(Boolean)).toHaveLength(2);
      expect([takes[0], takes[1]]).toEqual([takes[2], takes[3]]);
      const [taker, other] = takes[0] ? [one, two] : [two, one];
      expect(await store.leases.expired(100)).toEqual([]);
      expect(await store.leases.renew(dead, 150_000)).toBe(false);
      expect(await store.leases.take(dead, 150_000)).toBe(false);
      expect(await store.leases.release(dead, taker)).toBe(true);
      expect(await store.leases.release(dead, taker)).toBe(false);
      expect(await store.leases.expired(100)).toEqual([]);
      for (const id of [taker, other]) expect(await store.leases.release(id, id)).toBe(true);
    });

    test("only the holder of a lease can release it", async () => {
      const [dead, taker, other] = [unique("exec"), unique("exec"), unique("exec")];
      await store.leases.take(dead, 10_000);
      for (const id of [taker, other]) await store.leases.take(id, 100_000);
      expect(await store.leases.release(taker, other)).toBe(false);
      await harness.wait(20_000);
      expect(await store.leases.takeDead(dead, taker)).toBe(true);
      // The dead executor wakes up and ends its work as if nothing had happened.
      expect(await store.leases.release(dead, dead)).toBe(false);
      expect(await store.leases.release(dead, other)).toBe(false);
      await harness.wait(120_000);
      // The executor that took over has died as well, so the lease can be taken again.
      expect(await store.leases.expired(100)).toContain(dead);
      expect(await store.leases.takeDead(dead, other)).toBe(true);
      expect(await store.leases.release(dead, taker)).toBe(false);
      expect(await store.leases.release(dead, other)).toBe(true);
      for (const id of [taker, other]) expect(await store.leases.release(id, id)).toBe(true);
    });

    test("if the executor that took over dies as well, both leases can be taken", async () => {
      const [first, second, third] = [unique("exec"), unique("exec"), unique("exec")];
      await store.leases.take(first, 20_000);
      await store.leases.take(second, 150_000);
      await store.leases.take(third, 60_000_000);
      await harness.wait(40_000);
      expect(await store.leases.takeDead(first, second)).toBe(true);
      expect(await store.leases.takeDead(first, third)).toBe(false);
      await harness.wait(150_000);
      expect(await store.leases.expired(100)).toEqual([first, second]);
      expect(await store.leases.takeDead(first, third)).toBe(true);
      expect(await store.leases.expired(100)).toEqual([second]);
      expect(await store.leases.release(first, third)).toBe(true);
      for (const id of [second, third]) expect(await store.leases.release(id, id)).toBe(true);
    });

    test("an expired lease that was not taken can be renewed", async () => {
      const id = unique("exec");
      await store.leases.take(id, 10_000);
      await harness.wait(20_000);
      expect(await store.leases.renew(id, 60_000_000)).toBe(true);
      expect(await store.leases.expired(100)).toEqual([]);
      expect(await store.leases.release(id, id)).toBe(true);
    });

    test("a share shows what was archived when it was created, until it is revoked", async () => {
      const { actor, ref } = await newSession(store);
      const log = chat(2);
      await store.archive.write(ref, batchOf(log, "0-0", "1-5"));
      const share = await store.shares.create(actor, ref.session);
      await store.archive.write(ref, batchOf(log, "1-5"));
      expect(share).toMatchObject({ ...ref, upTo: "1-5" });
      expect(await store.shares.find(share.id)).toEqual(share);
      const later = await store.shares.create(actor, ref.session);
      expect(await store.shares.list(actor, ref.session)).toEqual([share, later]);
      expect(await store.shares.list({ ...actor, user: "else" }, ref.session)).toEqual([]);
      expect(await store.shares.revoke({ ...actor, user: "else" }, share.id)).toBe(false);
      expect(await store.shares.revoke(actor, share.id)).toBe(true);
      expect(await store.shares.revoke(actor, share.id)).toBe(false);
      expect(await store.shares.find(share.id)).toBeNull();
      expect(await store.shares.list(actor, ref.session)).toEqual([later]);
      await store.sessions.remove(ref);
      expect(await store.shares.find(later.id)).toBeNull();
    });

    test("a share with a client-chosen id is created once", async () => {
      const { actor, ref } = await newSession(store);
      const id = unique("share");
      const share = await store.shares.create(actor, ref.session, { id });
      expect(share.id).toBe(id);
      await expect(store.shares.create(actor, ref.session, { id })).rejects.toMatchObject({ code: "EXISTS" });
      await store.shares.revoke(actor, id);
      await expect(store.shares.create(actor, ref.session, { id })).rejects.toMatchObject({ code: "EXISTS" });
      expect(await store.shares.list(actor, ref.session)).toEqual([]);
    });

    test("H07 a share closes when it expires, by the store's clock", async () => {
      const { actor, ref } = await newSession(store);
      const expiresInMs = 100_000;
      const share = await store.shares.create(actor, ref.session, { expiresInMs });
      const forever = await store.shares.create(actor, ref.session);
      // PostgreSQL reads its clock once for each of the two columns.
      expect(Math.abs((share.expiresAt ?? 0) - share.createdAt - expiresInMs)).toBeLessThan(10_000);
      expect(forever.expiresAt).toBeNull();
      expect(await store.shares.find(share.id)).toEqual(share);
      await harness.wait(expiresInMs + 20_000);
      expect(await store.shares.find(share.id)).toBeNull();
      expect(await store.shares.list(actor, ref.session)).toEqual([forever]);
      expect((await store.shares.listOwn(actor, { limit: 10 })).shares.map(({ id }) => id)).toEqual([
        forever.id,
      ]);
      for (const bad of [-1, 0.5, Number.NaN, 1e15])
        await expect(store.shares.create(actor, ref.session, { expiresInMs: bad })).rejects.toMatchObject({
          code: "INVALID",
        });
    });

    test("H07 shares are deleted some time after they were revoked or expired, and no others", async () => {
      const { actor, ref } = await newSession(store);
      const day = 24 * 60 * 60 * 1_000;
      while ((await store.shares.prune({ olderThanMs: 0, limit: 1_000 })) > 0);
      const revoked = await store.shares.create(actor, ref.session, { id: unique("share") });
      const expired = await store.shares.create(actor, ref.session, {
        id: unique("share"),
        expiresInMs: 1_000,
      });
      const open = await store.shares.create(actor, ref.session, { expiresInMs: 9 * day });
      const forever = await store.shares.create(actor, ref.session);
      await store.shares.revoke(actor, revoked.id);
      await harness.wait(60_000);
      expect(await store.shares.prune({ olderThanMs: day, limit: 10 })).toBe(0);
      await expect(store.shares.create(actor, ref.session, { id: revoked.id })).rejects.toMatchObject({
        code: "EXISTS",
      });
      await harness.wait(day);
      expect(await store.shares.prune({ olderThanMs: day, limit: 1 })).toBe(1);
      expect(await store.shares.prune({ olderThanMs: day, limit: 10 })).toBe(1);
      expect(await store.shares.prune({ olderThanMs: day, limit: 10 })).toBe(0);
      expect(await store.shares.list(actor, ref.session)).toEqual([open, forever]);
      // The rows are deleted: their ids are free.
      for (const { id } of [revoked, expired])
        expect(await store.shares.create(actor, ref.session, { id })).toMatchObject({ id });
      for (const bad of [
        { olderThanMs: -1, limit: 1 },
        { olderThanMs: 0, limit: -1 },
      ])
        await expect(store.shares.prune(bad)).rejects.toMatchObject({ code: "INVALID" });
    });

    test("H07 an owner's shares are listed in pages, newest first, and only to the owner", async () => {
      const { actor, ref } = await newSession(store);
      const other = await store.sessions.create(actor, { id: unique("session"), title: "Other" });
      const made: string[] = [];
      for (let n = 0; n < 7; n += 1) {
        await harness.wait(5);
        made.unshift((await store.shares.create(actor, n % 2 === 0 ? ref.session : other.id)).id);
      }
      await store.shares.revoke(actor, made.pop() ?? "");
      const listed: string[] = [];
      for (let before: string | null = ""; before !== null;) {
        const page = await store.shares.listOwn(actor, { limit: 4, ...(before === "" ? {} : { before }) });
        listed.push(...page.shares.map(({ id }) => id));
        before = page.next;
      }
      expect(listed).toEqual(made);
      const ofOther = await store.shares.listOwn(actor, { session: other.id, limit: 10 });
      expect(ofOther.shares.map(({ title }) => title)).toEqual(["Other", "Other", "Other"]);
      expect(ofOther.next).toBeNull();
      for (const stranger of [
        { ...actor, user: "else" },
        { ...actor, tenant: "else" },
      ]) {
        expect((await store.shares.listOwn(stranger, { limit: 10 })).shares).toEqual([]);
        expect((await store.shares.listOwn(stranger, { session: ref.session, limit: 10 })).shares).toEqual(
          [],
        );
      }
      for (const page of [{ limit: 0 }, { limit: 101 }, { limit: 5, before: "?" }])
        await expect(store.shares.listOwn(actor, page)).rejects.toMatchObject({ code: "INVALID" });
    });

    test("lists the newest of many shares, oldest first", async () => {
      const { actor, ref } = await newSession(store);
      const first = await store.shares.create(actor, ref.session);
      await harness.wait(5);
      const made: string[] = [];
      for (let n = 0; n < 50; n += 1) {
        const some = Array.from({ length: 20 }, () => store.shares.create(actor, ref.session));
        made.push(...(await Promise.all(some)).map(({ id }) => id));
      }
      const listed = (await store.shares.list(actor, ref.session)).map(({ id }) => id);
      expect(listed).not.toContain(first.id);
      expect(listed.toSorted()).toEqual(made.toSorted());
    });
  });
}
