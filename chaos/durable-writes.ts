/**
 * `createWrite` builds a write that must not get lost: its rows are committed together with the outbox rows of its
 * events. `readFacts` reads what the database has of all writes.
 *
 * Invariant: a write is determined by its session and key, and `commit` is idempotent. Does not publish anything.
 */
import { createHash } from "node:crypto";
import type { SessionEvent } from "@turnstream/protocol";
import type { EventDraft } from "@turnstream/protocol/writer";
import type { SessionRef } from "@turnstream/server";
import type { Store } from "@turnstream/server/ports";
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

const PLACE = { run: "main", index: 1 } as const;
const MONEY = { amount: 1_250, currency: "TWD" } as const;
const USER = "someone";

/** Returns the keys of the n-th writes of a client. A later one needs the one before it. */
export function listKeys({ session }: SessionRef, client: string, n: number): string[] {
  const name = `${session}.${client}.${n}`;
  const payment = [`payment.${name}.processing`, `payment.${name}.succeeded`];
  return [[`tool.${name}`], [`decision.${name}`], payment, [`turn.${name}`]][n % 4] ?? [];
}

export function createWrite(ref: SessionRef, key: string): DurableWrite {
  const drafts = createDrafts(key);
  const rows = createRows(ref, key);
  return {
    ref,
    key,
    facts: [...drafts.map((draft) => `outbox ${findRowKey(draft)} ${JSON.stringify(draft)}`), ...rows.facts],
    commit: (store, since) =>
      store.transaction(async (tx) => {
        await rows.write(tx);
        for (const draft of drafts)
          await tx.outbox.add(ref, {
            key: findRowKey(draft) ?? "",
            draft,
            ...(since === undefined ? {} : { since }),
          });
      }),
  };
}

/** Returns the key of the write that an outbox row belongs to. */
export function findWriteKey(rowKey: string): string {
  return rowKey.startsWith("turn.") ? rowKey.split(".").slice(0, 4).join(".") : rowKey;
}

/** Returns the key of the outbox row that an event came from, or null for other events. */
export function findRowKey(event: EventDraft | SessionEvent): string | null {
  if (event.type === "approval.update" || event.type === "payment.update") return event.reason ?? null;
  if (event.type === "tool_result.start") return event.block;
  return event.type !== "turn.takeover" && "turn" in event ? `${event.turn}.${event.type}` : null;
}

function createDrafts(key: string): EventDraft[] {
  const [kind = "", , , , status] = key.split(".");
  const place = { turn: "t", ...PLACE, block: key };
  const turn = { turn: key };
  const start = {
    ...turn,
    number: 1,
    message_number: 1,
    agent: "a",
    mode: "agent",
    from_share: false,
  } as const;
  const text = { ...turn, ...PLACE, block: "b" };
  switch (kind) {
    case "tool":
      return [{ type: "tool_result.start", ...place, call: key, name: "search", label: "Search" }];
    case "decision":
      return [{ type: "approval.update", ...place, version: 1, by: USER, reason: key, status: "rejected" }];
    case "payment":
      return [
        status === "processing"
          ? { type: "payment.update", ...place, block: orderOf(key), version: 1, reason: key, status }
          : {
              type: "payment.update",
              ...place,
              block: orderOf(key),
              version: 2,
              reason: key,
              status: "succeeded",
            },
      ];
    default:
      return [
        { type: "turn.start", ...start },
        { type: "run.start", ...turn, run: "main", agent: "a" },
        { type: "text.start", ...text, part: false },
        { type: "text.delta", ...text, text: `This is ${key}.` },
        { type: "text.end", ...text, final: true },
        { type: "run.end", ...turn, run: "main", status: "completed" },
        { type: "turn.end", ...turn, reason: "end_turn", duration_ms: 1 },
      ];
  }
}

const orderOf = (key: string) => key.slice(0, key.lastIndexOf("."));

/** The rows of a write, apart from those of the outbox. */
interface Rows {
  readonly facts: readonly string[];
  write(tx: Store): Promise<void>;
}

function createRows(ref: SessionRef, key: string): Rows {
  if (key.startsWith("decision.")) return createDecision(ref, key);
  return key.startsWith("payment.")
    ? createPaymentStep(ref, key)
    : { facts: [], write: async () => undefined };
}

function createDecision(ref: SessionRef, key: string): Rows {
  const body = { note: `decided ${key}` };
  return {
    facts: [`change ${key} 1 rejected ${USER} ${JSON.stringify(body)}`],
    async write({ interactions }) {
      const place = { turn: "t", ...PLACE, block: key };
      await interactions.request(ref, { id: key, kind: "approval", ...place, request: { shown: key } });
      await interactions.change(ref, { id: key, to: "rejected", by: USER, reason: key, body });
    },
  };
}

function createPaymentStep(ref: SessionRef, key: string): Rows {
  const id = orderOf(key);
  const [version, status] = key.endsWith("processing")
    ? ([1, "processing"] as const)
    : ([2, "succeeded"] as const);
  const evidenceHash = createHash("sha256").update(key).digest("hex");
  return {
    facts: [
      `change ${id} ${version} ${status} null`,
      `payment ${id} ${version} changed ${status} ${evidenceHash}`,
    ],
    async write(tx) {
      if (version === 1) {
        const place = { turn: "t", ...PLACE, block: id };
        await tx.interactions.request(ref, { id, kind: "payment", ...place, request: { shown: id } });
        await createOrder(tx, ref, { orderNo: id, description: `order ${id}`, ...MONEY });
      }
      const paid = status === "succeeded" ? MONEY : null;
      const report = { provider: "newebpay", paid, providerRef: null, event: key, reason: key, evidenceHash };
      await tx.payments.apply(id, { type: status, ...report });
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
    read("'payment', payment_id, n, outcome, to_status, evidence_hash", "payment_changes"),
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
