/**
 * `workOn` keeps working on a session while it is erased: writers, takeovers, archivers, decisions, payment providers
 * and relays. The work continues until `isOver` returns true, also after the session is erased. Does not erase
 * anything.
 */
import { paymentsOf } from "@turnstream/payments";
import { setTimeout as sleep } from "node:timers/promises";
import type { Backend } from "@turnstream/server";
import {
  archiveSession,
  claimIdleSession,
  isLogError,
  isStoreError,
  relayOutbox,
} from "@turnstream/server/internal";
import { trimLog } from "@turnstream/testkit/backend/trim-log.ts";
import type { Filled } from "./canary-fill.ts";

export interface Work {
  /** Operations that succeeded, and those that were refused. */
  done: number;
  refused: number;
}

const PAUSE_MS = 2;

/** One operation of each kind. Refusals are expected once the session is erased. */
function operations(backend: Backend, { ref, user, canary, claimed, orderNo }: Filled) {
  const { store, log } = backend;
  const { tenant, session } = ref;
  const draft = { type: "session.update", title: canary } as const;
  const { epoch, writer } = claimed;
  return [
    (n: number) => log.append(ref, { epoch, writer, counter: n + 10, events: [draft] }),
    (n: number) => log.append(ref, { writer: `gateway.${n}`, counter: 0, events: [draft] }),
    () => claimIdleSession(backend, ref, "chaos"),
    () => archiveSession(backend, ref, { step: 3 }),
    () => trimLog(backend, ref),
    (n: number) => store.outbox.add(ref, { key: `w${n}`, draft }),
    (n: number) => store.blobs.put(ref, { id: `w${n}`, mediaType: canary, body: Buffer.from(canary) }),
    (n: number) => store.queuedMessages.add(ref, { id: `w${n}`, text: canary, by: user }),
    () => store.queue.start({ executor: "chaos", agents: [], limit: 1, isIdle: true }),
    async () => {
      const row = await store.running.get(ref);
      if (row !== null) await store.queue.end(ref, row.turn);
    },
    () => store.running.requestStop(ref, { by: user }),
    (n: number) => {
      // Other operations claim new epochs meanwhile. This epoch is far in the future, so the journal never refuses it as
      // outdated.
      const entry = {
        turn: "t2",
        key: `${canary}.${n}`,
        value: { text: canary },
        epoch: 1e14,
        isRetained: true,
      };
      return store.journal.write(ref, entry);
    },
    () => store.sessions.rename({ tenant, user }, session, canary),
    () => store.shares.create({ tenant, user }, session),
    (n: number) =>
      store.transaction(async (tx) => {
        const id = `w${n}`;
        const place = { turn: "t", run: "main", block: id, index: n };
        await tx.interactions.request(ref, { id, kind: "form", ...place, request: { canary } });
        await tx.interactions.change(ref, { id, to: "submitted", by: user, body: { canary } });
        await tx.outbox.add(ref, { key: `i${n}`, draft });
      }),
    (n: number) => {
      // Providers repeat their reports for days, also for orders that are already erased.
      const paid = { amount: 1, currency: "TWD" };
      const report = { provider: "newebpay", paid, providerRef: null, evidenceHash: null };
      const event = `${session}.late.${n}`;
      return paymentsOf(store).apply(orderNo, { type: "succeeded", ...report, event, reason: canary });
    },
  ];
}

/** Operations on a session without a worker: its log expires, and the outbox sometimes has a row for it. */
function idleOperations(backend: Backend, { ref, canary }: Filled) {
  const { store, log } = backend;
  const draft = { type: "session.update", title: canary } as const;
  return [
    async () => log.expire(ref, (await archiveSession(backend, ref)).cursor, 1),
    (n: number) => store.outbox.add(ref, { key: `w${n}`, draft }),
  ];
}

export function workOn(backend: Backend, filled: Filled, isOver: () => boolean): Promise<Work> {
  return repeat(operations(backend, filled), isOver);
}

export function idleOn(backend: Backend, filled: Filled, isOver: () => boolean): Promise<Work> {
  return repeat(idleOperations(backend, filled), isOver);
}

export function relayAll(backend: Backend, isOver: () => boolean): Promise<Work> {
  const claim = (ref: Filled["ref"]) => claimIdleSession(backend, ref, "relay");
  return repeat([() => relayOutbox(backend, { olderThanMs: 0, claim })], isOver);
}

/** Repeats each operation until `isOver`, all of them at once. */
async function repeat(
  todo: readonly ((n: number) => Promise<unknown>)[],
  isOver: () => boolean,
): Promise<Work> {
  const work = { done: 0, refused: 0 };
  const loops = todo.map(async (operation) => {
    for (let n = 0; !isOver(); n++) {
      await tried(() => operation(n), work);
      await sleep(PAUSE_MS);
    }
  });
  await Promise.all(loops);
  return work;
}

async function tried(operation: () => Promise<unknown>, work: Work): Promise<void> {
  try {
    await operation();
    work.done++;
  } catch (error) {
    if (!isLogError(error) && !isStoreError(error)) throw error;
    if (isStoreError(error, "INTERNAL") || isLogError(error, "INVALID")) throw error;
    work.refused++;
  }
}
