/** The contract of `LogRetention`, `archiveLeftovers` and of a log whose archive lost commits. */
import { parseCursor } from "@turnstream/protocol";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { archiveSession } from "../../../src/session/archive/archive.ts";
import { archiveLeftovers, LogRetention } from "../../../src/session/archive/log-retention.ts";
import { publishCommitted } from "../../../src/session/archive/relay-outbox.ts";
import type { HistoryLoss } from "../../../src/session/backend.ts";
import { readHistory } from "../../../src/session/history/read-history.ts";
import { claimIdleSession } from "../../../src/session/lifecycle/claim.ts";
import { reopenIdleLog, restartOrphanedLog } from "../../../src/session/lifecycle/create.ts";
import { type MakeBackend, plain, type SessionBackend, SessionHarness } from "../session-harness.ts";

const title = (text: string) => ({ type: "session.update", title: text }) as const;
const MINUTE = 60_000;

export function logRetentionContract(name: string, makeBackend: MakeBackend): void {
  describe(`log retention on ${name}`, () => {
    let parts: SessionBackend;
    beforeAll(async () => {
      parts = await makeBackend();
    });
    afterAll(async () => {
      await Promise.all([parts.log.close(), parts.store.close()]);
    });

    async function archivedSession(): Promise<{ harness: SessionHarness; archived: string }> {
      const harness = await (await SessionHarness.make(parts)).start();
      for (const text of ["a", "b", "c"]) await harness.append(title(text));
      return { harness, archived: (await archiveSession(parts, harness.ref)).cursor };
    }

    /** Trims events that are not archived, as if PostgreSQL had lost the commit that archived them. */
    async function orphaned(): Promise<{ harness: SessionHarness; archived: string; base: string }> {
      const { harness, archived } = await archivedSession();
      await harness.append(title("lost"), title("lost too"));
      const base = harness.events.at(-1)?.id ?? "";
      await harness.append(title("dropped"));
      expect(await parts.log.trim(harness.ref, base)).toBe(true);
      return { harness, archived, base };
    }

    test("the log of an idle session expires, and the next claim continues after the archive", async () => {
      const { harness, archived } = await archivedSession();
      const retention = new LogRetention(parts, { trimAfterMs: MINUTE, expireAfterMs: 20 });
      await retention.settle(harness.ref, archived);
      await expect.poll(() => parts.log.head(harness.ref), { timeout: 60_000 }).toBeNull();
      expect(plain((await readHistory(parts, harness.ref)).state)).toEqual(plain(harness.folded()));
      await harness.claim({ type: "turn.takeover", turn: null, blocks: [], groups: [], runs: [] });
      expect(parseCursor(harness.events.at(-1)?.id)?.seq).toBe(5);
      await harness.append(title("d"));
      const { state, cursor } = await readHistory(parts, harness.ref);
      expect(plain(state)).toEqual(plain(harness.folded()));
      expect(cursor).toBe(harness.events.at(-1)?.id);
      retention.close();
    });

    test("trims the archived events after a while, and the writer continues", async () => {
      const { harness, archived } = await archivedSession();
      const retention = new LogRetention(parts, { trimAfterMs: 20, expireAfterMs: MINUTE });
      await retention.settle(harness.ref, archived);
      // The next turn writes.
      await harness.append(title("d"));
      await expect
        .poll(() => parts.log.head(harness.ref), { timeout: 60_000 })
        .toMatchObject({ base: archived, last: harness.events.at(-1)?.id });
      await harness.append(title("e"));
      expect(plain((await readHistory(parts, harness.ref)).state)).toEqual(plain(harness.folded()));
      expect(retention.pending).toBe(0);
      retention.close();
    });

    test("remembers a bounded number of trims, and trims the oldest first", async () => {
      const retention = new LogRetention(parts, {
        trimAfterMs: MINUTE,
        expireAfterMs: 2 * MINUTE,
        maxPending: 2,
      });
      const sessions = [];
      for (let n = 0; n < 4; n++) {
        const session = await archivedSession();
        sessions.push(session);
        await retention.settle(session.harness.ref, session.archived);
      }
      expect(retention.pending).toBe(2);
      const bases = await Promise.all(
        sessions.map(async ({ harness }) => (await parts.log.head(harness.ref))?.base),
      );
      expect(bases).toEqual([sessions[0]?.archived, sessions[1]?.archived, "0-0", "0-0"]);
      retention.close();
    });

    test("archives published events that no turn archives, and keeps later ones", async () => {
      const { harness } = await archivedSession();
      const retention = new LogRetention(parts, { trimAfterMs: MINUTE, expireAfterMs: 2 * MINUTE });
      const ref = { ...harness.ref };
      await parts.store.outbox.add(ref, { key: "late", draft: title("late") });
      await publishCommitted(parts, ref);
      while ((await archiveLeftovers(parts, retention, { olderThanMs: 0 })) > 0);
      expect((await parts.store.archive.header(ref)).header?.title).toBe("late");
      await parts.store.outbox.add(ref, { key: "later", draft: title("later") });
      await publishCommitted(parts, ref);
      expect((await readHistory(parts, ref)).state.title).toBe("later");
      retention.close();
    });

    describe("an archive that lost commits, behind a trimmed log", () => {
      test("restarts the log at the next claim, reports the loss, and publishes committed events again", async () => {
        const { harness, archived, base } = await orphaned();
        const { ref } = harness;
        await parts.store.outbox.add(ref, { key: "kept", draft: title("kept") });
        await publishCommitted(parts, ref);
        expect(await readHistory(parts, ref)).toMatchObject({
          cursor: archived,
          logUnavailableReason: "trimmed",
        });
        const losses: HistoryLoss[] = [];
        const { cursor } = await claimIdleSession(
          { ...parts, onLoss: (loss) => losses.push(loss) },
          ref,
          "worker",
        );
        expect(parseCursor(cursor)?.seq).toBe((parseCursor(archived)?.seq ?? 0) + 1);
        expect(losses).toMatchObject([{ ...ref, archived, base }]);
        const lostAfter = parseCursor(archived)?.seq;
        expect(await parts.store.sessions.find(ref)).toMatchObject({ lostAfter });
        expect(await publishCommitted(parts, ref)).toMatchObject({ delivered: 1, failure: null });
        const { state, logUnavailableReason } = await readHistory(parts, ref);
        expect([state.title, logUnavailableReason]).toEqual(["kept", null]);
        expect(await archiveSession(parts, ref)).toMatchObject({ events: 2, isBlocked: false });
        // A reader of the lost events gets a reason, instead of continuing at another event with the same number.
        expect(await parts.log.read(ref, { after: base })).toMatchObject({ ok: false });
      });

      test("a reader restarts the log of an idle session once", async () => {
        const { harness, archived } = await orphaned();
        expect(await restartOrphanedLog(parts, harness.ref)).toBe(true);
        expect(await parts.log.head(harness.ref)).toMatchObject({ base: archived });
        expect(await restartOrphanedLog(parts, harness.ref)).toBe(false);
        expect((await readHistory(parts, harness.ref)).logUnavailableReason).toBeNull();
      });

      test("starts with the session if nothing is archived any more", async () => {
        const harness = await (await SessionHarness.make(parts)).start();
        await harness.append(title("lost"));
        await parts.log.trim(harness.ref, harness.events.at(-1)?.id ?? "");
        expect(await reopenIdleLog(parts, harness.ref)).toBe(true);
        expect((await readHistory(parts, harness.ref)).state.session).toBe(harness.ref.session);
      });
    });
  });
}
