/** The contract of the functions that connect log and store. It runs on memory and on real servers. */
import { randomUUID } from "node:crypto";
import { legalLog } from "@turnstream/conformance/generator/legal-log.ts";
import { type SessionEvent, foldAll, parseCursor, type SessionState } from "@turnstream/protocol";
import fc from "fast-check";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { Log } from "../../src/log/log.ts";
import { archiveSession } from "../../src/session/archive/archive.ts";
import { trimLog } from "@turnstream/testkit/backend/trim-log.ts";
import { claimIdleSession } from "../../src/session/lifecycle/claim.ts";
import { eraseExpired, eraseSession, eraseUser, finishErasures } from "../../src/session/lifecycle/erase.ts";
import { readHistory, readOlderTurns } from "../../src/session/history/read-history.ts";
import { publishCommitted, relayOutbox } from "../../src/session/archive/relay-outbox.ts";
import { readSharedSession } from "../../src/session/history/shared-history.ts";
import type { SessionRef } from "../../src/util/refs.ts";
import type { Store } from "../../src/store/store.ts";
import { forkShare } from "../../src/store/fork/fork-share.ts";
import { formatShareToken } from "../../src/store/shares.ts";
import { readAll } from "../log/drafts.ts";
import { nextMillisecond } from "../next-millisecond.ts";
import { type MakeBackend, plain, type SessionBackend, SessionHarness } from "./session-harness.ts";

const title = (text: string) => ({ type: "session.update", title: text }) as const;
const row = (key: string) => ({ key, draft: title(`decided ${key}`) });

async function typesIn({ backend, ref }: SessionHarness, after?: string): Promise<string[]> {
  const entries = await readAll(backend.log, ref, after);
  return entries.map(({ event }) => (event.type === "session.update" ? event.title : event.type));
}

/** Archives the whole log and returns the titles in the archive. */
async function inArchive({ backend, ref }: SessionHarness): Promise<string[]> {
  await archiveSession(backend, ref);
  const events = await backend.store.archive.events(ref, { after: 0, limit: 1000 });
  return events.flatMap((event) => (event.type === "session.update" ? [event.title] : []));
}

const relay = (parts: SessionBackend) => relayOutbox(parts, { olderThanMs: 0, leaseMs: 0 });

/** A session with some events in the archive and some in the log. */
async function full(parts: SessionBackend): Promise<SessionHarness> {
  const harness = await (await SessionHarness.make(parts)).start();
  await harness.append(title("canary"));
  await archiveSession(parts, harness.ref);
  await harness.append(title("canary"));
  return harness;
}

export function sessionContract(name: string, makeBackend: MakeBackend, runs: number): void {
  describe(`session on ${name}`, () => {
    let parts: SessionBackend;
    beforeAll(async () => {
      parts = await makeBackend();
    });
    afterAll(async () => {
      await Promise.all([parts.log.close(), parts.store.close()]);
    });

    /** Folds the archived events. */
    async function refolded(harness: SessionHarness): Promise<SessionState> {
      const events: SessionEvent[] = [];
      while (true) {
        const page = await parts.store.archive.events(harness.ref, {
          after: parseCursor(events.at(-1)?.id ?? "0-0")?.seq ?? 0,
          limit: 50,
        });
        if (page.length === 0) return foldAll(events);
        events.push(...page);
      }
    }

    describe("history", () => {
      test("equals the fold of the whole log at every moment, while it is archived and trimmed", async () => {
        await fc.assert(
          fc.asyncProperty(
            legalLog(60),
            fc.array(fc.nat(6), { minLength: 5, maxLength: 20 }),
            async (events, moves) => {
              const harness = await SessionHarness.make(parts);
              let n = 0;
              await harness.write(events, async () => {
                const move = moves[n++ % moves.length];
                if (move === 1) await archiveSession(parts, harness.ref, { step: 3 });
                if (move === 2) await trimLog(parts, harness.ref);
                if (move === 3) await archiveSession(parts, harness.ref);
                if (move !== undefined && move >= 4) {
                  const turns = move - 3;
                  const { state, logUnavailableReason } = await readHistory(parts, harness.ref, { turns });
                  expect(logUnavailableReason).toBeNull();
                  expect(plain(state, turns)).toEqual(plain(harness.folded(), turns));
                }
              });
              await archiveSession(parts, harness.ref);
              await trimLog(parts, harness.ref);
              const { state, cursor, archivedUpTo } = await readHistory(parts, harness.ref, { turns: 100 });
              expect(plain(state)).toEqual(plain(harness.folded()));
              expect(cursor).toBe(archivedUpTo);
              expect(plain(await refolded(harness))).toEqual(plain(harness.folded()));
              // A repeated call changes nothing.
              expect(await archiveSession(parts, harness.ref)).toEqual({
                cursor,
                events: 0,
                isBlocked: false,
              });
            },
          ),
          { numRuns: runs },
        );
      });

      test("is exact for readers during writes, archiving, trimming and takeovers", async () => {
        const harness = await (await SessionHarness.make(parts)).start();
        const work = { done: false };
        const writing = (async () => {
          for (let turn = 0; turn < 12; turn++) {
            const t = { turn: `t${turn}` };
            const b = { ...t, run: "main", block: "b", index: 0 };
            const started = {
              type: "turn.start",
              ...t,
              number: turn,
              message_number: turn,
              agent: "a",
              mode: "agent",
              from_share: false,
            } as const;
            if (turn % 4 === 3) await harness.claim(started);
            else await harness.append(started);
            await harness.append(
              { type: "run.start", ...t, run: "main", agent: "a" },
              { type: "text.start", ...b, part: false },
            );
            for (let n = 0; n < 15; n++) {
              await harness.append({ type: "text.delta", ...b, text: `${turn}.${n} ` });
              if (n % 5 === 0) await new Promise((resolve) => setImmediate(resolve));
            }
            await harness.append(
              { type: "text.end", ...b, final: true },
              { type: "run.end", ...t, run: "main", status: "completed" },
            );
            await harness.append({ type: "turn.end", ...t, reason: "end_turn", duration_ms: 1 });
          }
          work.done = true;
        })();
        let looks = 0;
        const looking = async () => {
          while (!work.done) {
            const { state, logUnavailableReason } = await readHistory(parts, harness.ref, {
              turns: 3,
              maxAttempts: 50,
            });
            expect(logUnavailableReason).toBeNull();
            // The log may be ahead of what the writer knows to have written.
            while (harness.events.length < state.seq) await new Promise((resolve) => setImmediate(resolve));
            expect(plain(state, 3)).toEqual(plain(harness.folded(state.seq), 3));
            looks++;
            await new Promise((resolve) => setImmediate(resolve));
          }
        };
        const archiving = async () => {
          while (!work.done) {
            await archiveSession(parts, harness.ref, { step: 7 });
            await trimLog(parts, harness.ref, { keep: 5 });
            await new Promise((resolve) => setImmediate(resolve));
          }
        };
        await Promise.all([writing, looking(), looking(), archiving(), archiving()]);
        expect(looks).toBeGreaterThan(2);
        await archiveSession(parts, harness.ref);
        expect(plain(await refolded(harness))).toEqual(plain(harness.folded()));
        const older = await readOlderTurns(parts, harness.ref, { before: 1e9, limit: 100 });
        expect(older.map(({ id }) => id)).toEqual(Array.from({ length: 12 }, (_, n) => `t${11 - n}`));
      });

      test("without a log is the archive, and a new log continues from there", async () => {
        const harness = await (await SessionHarness.make(parts)).start();
        await harness.append(title("stored"));
        await archiveSession(parts, harness.ref);
        await harness.append(title("lost"));
        await parts.log.remove(harness.ref);
        const history = await readHistory(parts, harness.ref);
        expect(history).toMatchObject({ logUnavailableReason: "missing", cursor: history.archivedUpTo });
        expect(history.state.title).toBe("stored");
        const { epoch, cursor } = await claimIdleSession(parts, harness.ref, "gateway");
        expect(cursor).toBe(`${epoch}-3`);
        expect(await parts.log.read(harness.ref, { after: history.cursor })).toMatchObject({
          ok: true,
          entries: [{ seq: 3 }],
        });
        expect((await readHistory(parts, harness.ref)).state).toMatchObject({
          title: "stored",
          seq: 3,
          epoch,
        });
      });
    });

    describe("archiving", () => {
      test("by many callers at once writes every event once", async () => {
        const harness = await (await SessionHarness.make(parts)).start();
        for (let n = 0; n < 40; n++) await harness.append(title(`${n}`));
        const results = await Promise.all(
          Array.from({ length: 6 }, () => archiveSession(parts, harness.ref, { step: 4 })),
        );
        expect(results.reduce((sum, { events }) => sum + events, 0)).toBe(41);
        expect(new Set(results.map(({ cursor }) => cursor)).size).toBe(1);
        expect(await parts.store.archive.events(harness.ref, { after: 0, limit: 100 })).toHaveLength(41);
      });

      test("waits for the claim during a takeover", async () => {
        const harness = await (await SessionHarness.make(parts)).start();
        await harness.append(title("a"));
        // A writer has the next epoch but has not claimed the log yet, so entries may still be lost.
        const seen = (await parts.log.head(harness.ref))?.epoch ?? 0;
        await parts.store.epochs.next(harness.ref, { seen });
        expect(await archiveSession(parts, harness.ref)).toEqual({
          cursor: "0-0",
          events: 0,
          isBlocked: true,
        });
        await harness.claim({ type: "turn.takeover", turn: null, blocks: [], groups: [], runs: [] });
        expect((await archiveSession(parts, harness.ref)).events).toBe(3);
      });

      test("archives events from before a takeover in several steps", async () => {
        const harness = await (await SessionHarness.make(parts)).start();
        // More than one page of the log, all of an earlier epoch.
        for (let n = 0; n < 3; n++)
          await harness.append(...Array.from({ length: 700 }, (_, m) => title(`${n}/${m}`)));
        await harness.claim({ type: "turn.takeover", turn: null, blocks: [], groups: [], runs: [] });
        let calls = 0;
        const commit = async () => void calls++;
        const cursor = harness.events.at(-1)?.id;
        expect(await archiveSession(parts, harness.ref, { commit })).toEqual({
          cursor,
          events: harness.events.length,
          isBlocked: false,
        });
        expect(calls).toBe(1);
        expect(plain((await readHistory(parts, harness.ref)).state)).toEqual(plain(harness.folded()));
      });

      test("in several steps stops when a takeover starts in between", async () => {
        const harness = await (await SessionHarness.make(parts)).start();
        await harness.append(title("a"), title("b"), title("c"), title("d"));
        await harness.claim({ type: "turn.takeover", turn: null, blocks: [], groups: [], runs: [] });
        let reads = 0;
        const log: Log = Object.assign(Object.create(parts.log) as Log, {
          read: async (...args: Parameters<Log["read"]>) => {
            const page = await parts.log.read(...args);
            // After this page was read: its tail may be lost before the claim.
            if (++reads === 2) await parts.store.epochs.next(harness.ref, { seen: 0 });
            return page;
          },
        });
        expect(await archiveSession({ ...parts, log }, harness.ref, { step: 2 })).toEqual({
          cursor: harness.events[1]?.id,
          events: 2,
          isBlocked: true,
        });
        await harness.claim({ type: "turn.takeover", turn: null, blocks: [], groups: [], runs: [] });
        expect(await archiveSession(parts, harness.ref, { step: 2 })).toMatchObject({ events: 5 });
      });

      test("runs `commit` in the transaction of the last events", async () => {
        const harness = await (await SessionHarness.make(parts)).start();
        for (let n = 0; n < 9; n++) await harness.append(title(`${n}`));
        const { ref } = harness;
        const epoch = (await parts.log.head(ref))?.epoch ?? 0;
        const calls: string[] = [];
        const commit = (key: string) => async (tx: Store) => {
          calls.push(`${key} at ${parseCursor((await tx.archive.header(ref)).archived)?.seq}`);
          await tx.journal.write(ref, { turn: "t", key, value: key, epoch });
        };
        const keys = async () => (await parts.store.journal.read(ref, "t")).map(({ key }) => key);
        // A `commit` that throws rolls back the last write. Earlier writes stay.
        const failing = archiveSession(parts, ref, {
          step: 4,
          commit: async (tx) => {
            await commit("undone")(tx);
            throw new Error("no");
          },
        });
        await expect(failing).rejects.toThrow("no");
        expect(await parts.store.archive.header(ref)).toMatchObject({ archived: harness.events[7]?.id });
        expect(await keys()).toEqual([]);
        expect(await archiveSession(parts, ref, { step: 4, commit: commit("with") })).toEqual({
          cursor: harness.events[9]?.id,
          events: 2,
          isBlocked: false,
        });
        expect(calls).toEqual(["undone at 10", "with at 10"]);
        // Nothing is left to archive, or another caller was faster.
        expect(await archiveSession(parts, ref, { commit: commit("alone") })).toMatchObject({ events: 0 });
        await harness.append(title("more"));
        await Promise.all(
          ["p", "q", "r", "s"].map((key) => archiveSession(parts, ref, { commit: commit(key) })),
        );
        expect((await keys()).toSorted()).toEqual(["alone", "p", "q", "r", "s", "with"]);
        // Up to a position, although the log contains more.
        await harness.append(title("a"), title("b"), title("c"));
        const upTo = harness.events[11]?.id ?? "";
        expect(await archiveSession(parts, ref, { upTo, commit: commit("up to") })).toMatchObject({
          cursor: upTo,
        });
        expect(calls.at(-1)).toBe("up to at 12");
        expect(await keys()).toContain("up to");
      });

      test("does not commit for a writer that is being replaced", async () => {
        const harness = await (await SessionHarness.make(parts)).start();
        await harness.append(title("a"));
        const epoch = (await parts.log.head(harness.ref))?.epoch ?? 0;
        let calls = 0;
        const commit = async (tx: Store) => {
          calls++;
          await tx.journal.write(harness.ref, { turn: "t", key: "k", value: 1, epoch });
        };
        await parts.store.epochs.next(harness.ref, { seen: epoch });
        expect(await archiveSession(parts, harness.ref, { commit })).toMatchObject({ isBlocked: true });
        expect(calls).toBe(0);
        await harness.claim({ type: "turn.takeover", turn: null, blocks: [], groups: [], runs: [] });
        // The writer's events are archived by now, but its commit is still refused.
        await archiveSession(parts, harness.ref);
        const late = archiveSession(parts, harness.ref, { commit });
        await expect(late).rejects.toMatchObject({ code: "FENCED" });
        expect(await parts.store.journal.read(harness.ref, "t")).toEqual([]);
      });

      test("trims only archived entries", async () => {
        const harness = await (await SessionHarness.make(parts)).start();
        for (let n = 0; n < 5; n++) await harness.append(title(`${n}`));
        expect(await trimLog(parts, harness.ref)).toBe(true);
        expect(await readAll(parts.log, harness.ref)).toHaveLength(6);
        await archiveSession(parts, harness.ref, { upTo: harness.events[2]?.id ?? "" });
        await trimLog(parts, harness.ref);
        expect(await parts.log.head(harness.ref)).toMatchObject({ base: harness.events[2]?.id });
      });
    });

    describe("share", () => {
      test("shows the session as it was to anyone with the link, until it is revoked", async () => {
        const harness = await (await SessionHarness.make(parts)).start();
        await harness.append(title("shared"));
        await archiveSession(parts, harness.ref);
        const share = await parts.store.shares.create(harness.actor, harness.ref.session);
        await harness.append(title("secret"));
        await archiveSession(parts, harness.ref);
        const link = formatShareToken(share);
        const seen = await readSharedSession(parts.store, link);
        expect(seen?.state).toMatchObject({ title: "shared", seq: 2 });
        expect(JSON.stringify(seen)).not.toContain("secret");
        for (const bad of [
          share.id,
          `${link}x`,
          formatShareToken({ id: share.id, key: "other" }),
          formatShareToken({ id: "none", key: share.key }),
        ]) {
          expect(await readSharedSession(parts.store, bad)).toBeNull();
        }
        await parts.store.shares.revoke(harness.actor, share.id);
        expect(await readSharedSession(parts.store, link)).toBeNull();
      });

      test("can be forked into an independent session that continues", async () => {
        const harness = await (await SessionHarness.make(parts)).start();
        await harness.append(title("shared"));
        await archiveSession(parts, harness.ref);
        const share = await parts.store.shares.create(harness.actor, harness.ref.session);
        const reader = { tenant: harness.actor.tenant, user: "reader" };
        const id = `s-${randomUUID()}`;
        expect(await forkShare(parts.store, reader, share.id, { id })).toMatchObject({
          forkedFromShare: true,
        });
        const fork = { tenant: reader.tenant, session: id };
        const before = await readHistory(parts, fork);
        expect(before.state).toMatchObject({ title: "shared", session: id });
        // A cursor of the source session is not valid here.
        await claimIdleSession(parts, fork, "worker");
        const foreign = await parts.log.read(fork, { after: harness.events.at(-1)?.id ?? "" });
        expect(foreign.ok).toBe(false);
        const after = await readHistory(parts, fork);
        expect(after.state).toMatchObject({ title: "shared", seq: before.state.seq + 1 });
        expect((await archiveSession(parts, fork)).events).toBe(1);
      });
    });

    describe("outbox", () => {
      test("publishes each row once, whichever process publishes it and dies", async () => {
        const harness = await (await SessionHarness.make(parts)).start();
        const { store, log } = parts;
        const appendAs = (key: string) => {
          const events = [title(`decided ${key}`)];
          return log.append(harness.ref, { writer: `o/${key}`, counter: 0, events, isRetry: true });
        };
        // Published by its writer.
        await store.outbox.add(harness.ref, row("a"));
        expect(await publishCommitted(parts, harness.ref)).toEqual({ delivered: 1, failure: null });
        // Its writer died after the commit.
        await store.outbox.add(harness.ref, row("b"));
        // Its writer died after the append.
        await store.outbox.add(harness.ref, row("c"));
        await appendAs("c");
        // Its event was archived and trimmed before a process could mark the row.
        await store.outbox.add(harness.ref, row("d"));
        await appendAs("d");
        await archiveSession(parts, harness.ref);
        await trimLog(parts, harness.ref);
        // All publish at once, also a writer that was frozen before.
        await store.outbox.add(harness.ref, row("e"));
        await Promise.all([
          relay(parts),
          relay(parts),
          publishCommitted(parts, harness.ref),
          publishCommitted(parts, harness.ref),
        ]);
        await relay(parts);
        expect(await store.outbox.undelivered(harness.ref, 10)).toEqual([]);
        expect((await inArchive(harness)).toSorted()).toEqual(
          ["a", "b", "c", "d", "e"].map((key) => `decided ${key}`),
        );
      });

      test("a writer that wakes up after its event was archived and trimmed doesn't publish it again", async () => {
        const harness = await (await SessionHarness.make(parts)).start();
        await parts.store.outbox.add(harness.ref, row("once"));
        // The writer has read the row and freezes here.
        const asleep = await parts.store.outbox.undelivered(harness.ref, 10);
        const frozen = {
          ...parts,
          store: { ...parts.store, outbox: { ...parts.store.outbox, undelivered: async () => asleep } },
        };
        await relay(parts);
        await harness.append(title("more"));
        await archiveSession(parts, harness.ref);
        await trimLog(parts, harness.ref);
        expect(await publishCommitted(frozen, harness.ref)).toEqual({ delivered: 0, failure: null });
        expect(await inArchive(harness)).toEqual(["decided once", "more"]);
      });

      test("publishes a row again when the log has lost its event", async () => {
        const harness = await (await SessionHarness.make(parts)).start();
        await archiveSession(parts, harness.ref);
        await parts.store.outbox.add(harness.ref, row("lost"));
        await publishCommitted(parts, harness.ref);
        await parts.log.remove(harness.ref);
        await harness.claim({ type: "turn.takeover", turn: null, blocks: [], groups: [], runs: [] });
        await relay(parts);
        expect(await typesIn(harness, harness.events[0]?.id)).toEqual(["turn.takeover", "decided lost"]);
        // No process has read the outbox since the claim, but archiving detects the missing event.
        await parts.store.outbox.delivered(harness.ref, "lost", "1-1");
        await parts.store.outbox.add(harness.ref, row("other"));
        await parts.store.outbox.delivered(harness.ref, "other", harness.events.at(-1)?.id ?? "");
        expect(await inArchive(harness)).toEqual(["decided lost"]);
        await relay(parts);
        expect(await inArchive(harness)).toEqual(["decided lost", "decided other"]);
      });

      test("waits while the log is unclaimed, and claims it if a `claim` function allows that", async () => {
        const harness = await (await SessionHarness.make(parts)).start();
        await archiveSession(parts, harness.ref);
        await parts.log.remove(harness.ref);
        await parts.store.outbox.add(harness.ref, row("late"));
        expect(await publishCommitted(parts, harness.ref)).toMatchObject({
          delivered: 0,
          failure: { code: "UNCLAIMED" },
        });
        expect(await relay(parts)).toMatchObject({ delivered: 0, postponed: 1 });
        const claim = (ref: SessionRef) => claimIdleSession(parts, ref, "relay");
        await expect
          .poll(() => relayOutbox(parts, { olderThanMs: 0, claim }), { timeout: 60_000 })
          .toMatchObject({ delivered: 1 });
        const { state } = await readHistory(parts, harness.ref);
        expect(state.title).toBe("decided late");
      });

      test("keeps the order of a session when writers and relays overlap", async () => {
        const harness = await (await SessionHarness.make(parts)).start();
        const keys = Array.from({ length: 12 }, (_, n) => `k${n}`);
        const bringing: Promise<unknown>[] = [];
        for (const key of keys) {
          await parts.store.outbox.add(harness.ref, row(key));
          // The writers of the first rows don't publish them.
          if (key > "k3") bringing.push(publishCommitted(parts, harness.ref), relay(parts));
        }
        await Promise.all(bringing);
        await publishCommitted(parts, harness.ref);
        expect(await typesIn(harness)).toEqual(["session.start", ...keys.map((key) => `decided ${key}`)]);
      });
    });

    describe("erasure", () => {
      test("of a session removes it everywhere, also if a claim was under way", async () => {
        const harness = await full(parts);
        const { session } = harness.ref;
        expect(await eraseSession(parts, harness.ref)).toBe(true);
        expect(await eraseSession(parts, harness.ref)).toBe(false);
        expect(await parts.log.head(harness.ref)).toBeNull();
        expect(await parts.store.sessions.find(harness.ref)).toBeNull();
        await expect(harness.append(title("late"))).rejects.toMatchObject({ code: "UNCLAIMED" });
        await expect(harness.claim(title("late"))).rejects.toMatchObject({ code: "NOT_FOUND" });
        // A claim that got its epoch before the session was erased.
        await parts.log.claim(harness.ref, {
          epoch: 1e14,
          writer: "zombie",
          event: title("canary"),
          archivedUpTo: "0-0",
        });
        await finishErasures(parts);
        expect(await parts.log.head(harness.ref)).toBeNull();
        expect(
          (await parts.store.sessions.pendingErasures(1000)).map((erasure) => erasure.session),
        ).toContain(session);
        await finishErasures(parts, { graceMs: 0 });
        expect(
          (await parts.store.sessions.pendingErasures(100)).map((erasure) => erasure.session),
        ).not.toContain(session);
      });

      test("of a user removes all of the user's sessions and no others", async () => {
        const harness = await full(parts);
        const other = await full(parts);
        const second = `s-${randomUUID()}`;
        await parts.store.sessions.create(harness.actor, { id: second });
        expect(await eraseUser(parts, harness.actor.tenant, harness.actor.user)).toBe(2);
        expect(await parts.log.head(harness.ref)).toBeNull();
        expect(await parts.log.head(other.ref)).not.toBeNull();
        expect(await parts.store.sessions.find(other.ref)).not.toBeNull();
      });

      test("by age removes only old sessions, and notes their number in the audit of each tenant", async () => {
        // Sessions of earlier tests must not fill a part of the batch.
        while ((await eraseExpired(parts, 0)) > 0);
        const [harness, other] = [await full(parts), await full(parts)];
        await parts.store.sessions.create(harness.actor, { id: `s-${randomUUID()}` });
        expect(await eraseExpired(parts, 3_600_000)).toBe(0);
        // A session of the current millisecond is not older than now.
        await nextMillisecond();
        while ((await eraseExpired(parts, 0)) > 0);
        expect(await parts.store.sessions.find(harness.ref)).toBeNull();
        expect(await parts.log.head(harness.ref)).toBeNull();
        const erased = async ({ tenant }: { readonly tenant: string }) =>
          (await parts.store.audit.list(tenant, { after: 0, limit: 1_000 }))
            .filter(({ action }) => action === "session.erased")
            .map(({ actor, subject, detail }) => ({ actor, subject, ...(JSON.parse(detail) as object) }));
        const entry = { actor: null, subject: "{}", reason: "retention" };
        expect(await erased(harness.ref)).toEqual([{ ...entry, sessions: 2 }]);
        expect(await erased(other.ref)).toEqual([{ ...entry, sessions: 1 }]);
      });
    });
  });
}
