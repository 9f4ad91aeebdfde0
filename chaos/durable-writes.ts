/**
 * `toolStart`, `decision` and `paymentSteps` build writes that must not get lost. Each is committed together with the
 * outbox row of its event.
 *
 * Invariant: `commit` is idempotent, and `look` judges by content whether the write is stored. Does not publish
 * anything.
 */
import { createHash } from "node:crypto";

import type { EventDraft } from "@turnstream/protocol/writer";
import type { SessionRef } from "@turnstream/server";
import type { Store } from "@turnstream/server/ports";
import { createOrder } from "./order.ts";

/** `half` also means: stored twice, or with other content. */
export type Trace = "whole" | "nothing" | "half";

export interface DurableWrite {
  readonly ref: SessionRef;
  /** The key of the outbox row. The event contains it too. */
  readonly key: string;
  readonly draft: EventDraft;
  /** Commits all parts in one transaction. A repeated call changes nothing. */
  commit(store: Store, since?: string): Promise<void>;
  /** @param drafts the drafts of the session's outbox rows, by key */
  look(store: Store, drafts: ReadonlyMap<string, EventDraft>): Promise<Trace>;
}

const PLACE = { turn: "t", run: "main", index: 1 } as const;
const MONEY = { amount: 1_250, currency: "TWD" } as const;

/** Returns the key of the write that an event belongs to, or null for other events. */
export function findWriteKey(event: EventDraft): string | null {
  if (event.type === "approval.update" || event.type === "payment.update") return event.reason ?? null;
  return event.type === "tool_result.start" ? event.block : null;
}

function row(write: Pick<DurableWrite, "key" | "draft">, since: string | undefined) {
  return { key: write.key, draft: write.draft, ...(since === undefined ? {} : { since }) };
}

/** Returns `whole` if all parts are stored, `nothing` if none is, and `half` otherwise. */
function summarizeChecks(checks: readonly (boolean | "wrong")[]): Trace {
  if (checks.every((part) => part === true)) return "whole";
  return checks.every((part) => part === false) ? "nothing" : "half";
}

function same(found: unknown, meant: unknown): boolean | "wrong" {
  if (found === undefined || found === null) return false;
  return JSON.stringify(found) === JSON.stringify(meant) ? true : "wrong";
}

export function toolStart(ref: SessionRef, key: string): DurableWrite {
  const draft: EventDraft = {
    type: "tool_result.start",
    ...PLACE,
    block: key,
    call: key,
    name: "search",
    label: "Search",
  };
  return {
    ref,
    key,
    draft,
    async commit(store, since) {
      await store.transaction(async (tx) => {
        await tx.sessions.touch(ref);
        await tx.outbox.add(ref, row(this, since));
      });
    },
    look: async (_store, drafts) => summarizeChecks([same(drafts.get(key), draft)]),
  };
}

export function decision(ref: SessionRef, key: string, by: string): DurableWrite {
  const body = { note: `decided ${key}` };
  const draft: EventDraft = {
    type: "approval.update",
    ...PLACE,
    block: key,
    version: 1,
    by,
    reason: key,
    status: "rejected",
  };
  return {
    ref,
    key,
    draft,
    async commit(store, since) {
      const request = { id: key, kind: "approval", ...PLACE, block: key, request: { shown: key } } as const;
      await store.transaction(async (tx) => {
        await tx.interactions.request(ref, request);
        await tx.interactions.change(ref, { id: key, to: "rejected", by, reason: key, body });
        await tx.outbox.add(ref, row(this, since));
      });
    },
    async look(store, drafts) {
      const found = await store.interactions.get(ref, key);
      const changes = await store.interactions.changes(ref, key);
      const noted = changes.map((change) => [change.version, change.status, change.by, change.body]);
      return summarizeChecks([
        same(found && [found.status, found.version, found.request], ["rejected", 1, { shown: key }]),
        noted.length === 0 ? false : same(noted, [[1, "rejected", by, body]]),
        same(drafts.get(key), draft),
      ]);
    },
  };
}

/** The two steps of one payment. The second may start only after the first is committed. */
export function paymentSteps(ref: SessionRef, orderNo: string): [DurableWrite, DurableWrite] {
  return [paymentStep(ref, orderNo, 1), paymentStep(ref, orderNo, 2)];
}

function paymentStep(ref: SessionRef, orderNo: string, version: 1 | 2): DurableWrite {
  const status = version === 1 ? "processing" : "succeeded";
  const key = `${orderNo}.${status}`;
  const paid = status === "succeeded" ? MONEY : null;
  const evidenceHash = createHash("sha256").update(key).digest("hex");
  const draft: EventDraft = {
    type: "payment.update",
    ...PLACE,
    block: orderNo,
    version,
    reason: key,
    status,
  };
  return {
    ref,
    key,
    draft,
    async commit(store, since) {
      await store.transaction(async (tx) => {
        if (version === 1) await order(tx, ref, orderNo);
        const report = {
          provider: "newebpay",
          paid,
          providerRef: null,
          event: key,
          reason: key,
          evidenceHash,
        };
        await tx.payments.apply(orderNo, { type: status, ...report });
        await tx.outbox.add(ref, row(this, since));
      });
    },
    async look(store, drafts) {
      const found = await store.payments.byOrderNo(orderNo);
      const asked = await store.interactions.get(ref, orderNo);
      // Payment and interaction must always have the same status.
      if (found?.status !== asked?.status) return "half";
      const changes = await store.interactions.changes(ref, orderNo);
      const noted = changes.filter((change) => change.version === version || change.status === status);
      const recorded = await store.payments.changes(ref, orderNo);
      const stored = recorded.filter((each) => each.event === key);
      return summarizeChecks([
        noted.length === 0
          ? false
          : same(
              noted.map((each) => [each.version, each.status]),
              [[version, status]],
            ),
        stored.length === 0
          ? false
          : same(
              stored.map((each) => [each.n, each.outcome, each.to, each.evidenceHash]),
              [[version, "changed", status, evidenceHash]],
            ),
        changes.length < version ? false : found?.amount === MONEY.amount ? true : "wrong",
        same(drafts.get(key), draft),
      ]);
    },
  };
}

async function order(tx: Store, ref: SessionRef, orderNo: string): Promise<void> {
  const request = { shown: orderNo };
  await tx.interactions.request(ref, { id: orderNo, kind: "payment", ...PLACE, block: orderNo, request });
  await createOrder(tx, ref, { orderNo, description: `order ${orderNo}`, ...MONEY });
}
