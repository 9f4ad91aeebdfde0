/**
 * `createWrite` builds a write that must not get lost: its rows are committed together with the outbox rows of its
 * events. `readFacts` reads what the database has of all writes.
 *
 * Invariant: a write is determined by its session and key, and `commit` is idempotent. Does not publish anything.
 */
import { paymentsOf } from "@turnstream/payments";
import { createHash } from "node:crypto";
import type { SessionEvent } from "@turnstream/protocol";
import type { EventDraft } from "@turnstream/protocol/writer";
import type { SessionRef } from "@turnstream/server";
import type { Store } from "@turnstream/server/internal";
import { runSql } from "@turnstream/testkit/servers/run-sql.ts";
import { createOrder } from "./order.ts";

export interface DurableWrite {
  readonly ref: SessionRef;
  readonly key: string;
  /** What it stores, as `readFacts` returns it. */
  readonly facts: readonly string[];
  /** Commits everything in one transaction. A repeated call changes nothing. */
  commit(store: Store, since?: string): Promise<void>;
}

/** The events of a write, and its rows apart from those of the outbox. */
interface Parts {
  readonly drafts: readonly EventDraft[];
  readonly facts?: readonly string[];
  readonly write?: (tx: Store) => Promise<unknown>;
}

const PLACE = { turn: "t", run: "main", index: 1 } as const;
const MONEY = { amount: 1_250, currency: "TWD" } as const;
const USER = "someone";
const KINDS = { tool: createTool, decision: createDecision, payment: createPaymentStep, turn: createTurn };

/** Returns the keys of the n-th writes of a client. A later one needs the one before it. */
export function listKeys({ session }: SessionRef, client: string, n: number): string[] {
  const kinds = Object.keys(KINDS);
  const kind = kinds[n % kinds.length];
  const key = `${kind}.${session}.${client}.${n}`;
  return kind === "payment" ? [`${key}.processing`, `${key}.succeeded`] : [key];
}

export function createWrite(ref: SessionRef, key: string): DurableWrite {
  const createParts = KINDS[key.split(".")[0] as keyof typeof KINDS];
  const { drafts, facts = [], write } = createParts(ref, key);
  const rows = drafts.map((draft) => ({ key: findRowKey(draft) ?? "", draft }));
  return {
    ref,
    key,
    facts: [...facts, ...rows.map((row) => `outbox ${row.key} ${JSON.stringify(row.draft)}`)],
    commit: (store, since = "0-0") =>
      store.transaction(async (tx) => {
        await write?.(tx);
        for (const row of rows) await tx.outbox.add(ref, { ...row, since });
      }),
  };
}

/** Returns the key of the outbox row that an event came from, or null for other events. */
export function findRowKey(event: EventDraft | SessionEvent): string | null {
  if (event.type === "approval.update" || event.type === "payment.update") return event.reason ?? null;
  if (event.type === "tool_result.start") return event.block;
  return event.type !== "turn.takeover" && "turn" in event ? `${event.turn}.${event.type}` : null;
}

/** Returns the key of the write that an outbox row belongs to. */
export function findWriteKey(rowKey: string): string {
  return rowKey.startsWith("turn.") ? rowKey.split(".").slice(0, 4).join(".") : rowKey;
}

function createTool(_ref: SessionRef, key: string): Parts {
  const tool = { block: key, call: key, name: "search", label: "Search" };
  return { drafts: [{ type: "tool_result.start", ...PLACE, ...tool }] };
}

function createTurn(_ref: SessionRef, turn: string): Parts {
  const start = { turn, number: 1, message_number: 1, agent: "a", mode: "agent", from_share: false } as const;
  const block = { ...PLACE, turn, block: "b" };
  return {
    drafts: [
      { type: "turn.start", ...start },
      { type: "run.start", turn, run: "main", agent: "a" },
      { type: "text.start", ...block, part: false },
      { type: "text.delta", ...block, text: `This is ${turn}.` },
      { type: "text.end", ...block, final: true },
      { type: "run.end", turn, run: "main", status: "completed" },
      { type: "turn.end", turn, reason: "end_turn", duration_ms: 1 },
    ],
  };
}

function createDecision(ref: SessionRef, key: string): Parts {
  const place = { ...PLACE, block: key };
  const body = { note: `decided ${key}` };
  const decided = { by: USER, reason: key };
  return {
    drafts: [{ type: "approval.update", ...place, version: 1, ...decided, status: "rejected" }],
    facts: [`change ${key} 1 rejected ${USER} ${JSON.stringify(body)}`],
    async write({ interactions }) {
      await interactions.request(ref, { id: key, kind: "approval", ...place, request: { shown: key } });
      await interactions.change(ref, { id: key, to: "rejected", ...decided, body });
    },
  };
}

function createPaymentStep(ref: SessionRef, key: string): Parts {
  const id = key.slice(0, key.lastIndexOf("."));
  const place = { ...PLACE, block: id };
  const isPaid = key.endsWith("succeeded");
  const [version, status] = isPaid ? ([2, "succeeded"] as const) : ([1, "processing"] as const);
  const evidenceHash = createHash("sha256").update(key).digest("hex");
  const report = { provider: "newebpay", providerRef: null, event: key, reason: key, evidenceHash };
  return {
    drafts: [{ type: "payment.update", ...place, version, reason: key, status }],
    facts: [
      `change ${id} ${version} ${status} null`,
      `payment ${id} ${version} changed ${status} ${evidenceHash}`,
    ],
    async write(tx) {
      if (!isPaid) {
        await tx.interactions.request(ref, { id, kind: "payment", ...place, request: { shown: id } });
        await createOrder(tx, ref, { orderNo: id, description: `order ${id}`, ...MONEY });
      }
      await paymentsOf(tx).apply(id, { type: status, ...report, paid: isPaid ? MONEY : null });
    },
  };
}

/** Returns the facts of all writes of a session, in any order. */
export async function readFacts(url: string, { session }: SessionRef): Promise<string[]> {
  const read = (columns: string, table: string) =>
    `select concat_ws(' ', ${columns}) as fact from ${table} where session_id = '${session}'`;
  const tables = [
    read("'outbox', key, draft", "outbox"),
    read("'change', interaction_id, version, status, by_user, body", "interaction_changes"),
    read("'payment', payment_id, n, outcome, to_status, evidence_hash", "payments_changes"),
  ];
  return (await runSql(url, tables.join(" union all "))).map(({ fact }) => String(fact));
}

/** Returns the drafts of a session's outbox rows in commit order, delivered or not. */
export async function readDrafts(url: string, { session }: SessionRef): Promise<EventDraft[]> {
  const rows = await runSql(url, `select draft from outbox where session_id = '${session}' order by id`);
  return rows.map(({ draft }) => draft as EventDraft);
}

/** Returns the interactions and payments of a session whose status is not that of their newest change. */
export async function findInconsistent(url: string, { session }: SessionRef): Promise<string[]> {
  const rows = await runSql(
    url,
    `select i.id from interactions i left join payments p on p.session_id = i.session_id and p.id = i.id
      where i.session_id = '${session}' and (
        p.status <> i.status or p.amount <> ${MONEY.amount} or (i.kind = 'payment' and p.id is null) or
        concat_ws(' ', i.version, i.status) is distinct from (
          select concat_ws(' ', c.version, c.status) from interaction_changes c
          where c.session_id = i.session_id and c.interaction_id = i.id order by c.version desc limit 1))`,
  );
  return rows.map(({ id }) => String(id));
}
