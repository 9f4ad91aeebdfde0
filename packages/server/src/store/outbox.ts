/**
 * `Outbox` is the part of the store for events that must still reach the log, and `postgresOutbox` its implementation.
 *
 * Invariant: a row is added in the transaction of its change. A row that the log would refuse must be refused here
 * (`log/writer/oversize.ts` has the size limit), or it would stay for ever. Rows of a session get their ids with the
 * session locked, so the order of ids is the order of commits, in which their events are appended, once. `take` leases
 * a session by its first undelivered row, and no lock outlives the statement.
 */
import { type Cursor, formatCursor } from "@turnstream/protocol";
import type { EventDraft } from "@turnstream/protocol/writer";
import { type RawBuilder, type Selectable, sql } from "kysely";
import { WRITER_ID_PATTERN, WRITER_ID_RULE } from "../util/names.ts";
import { type SessionRef, sessionKey } from "../util/refs.ts";
import type { Db } from "./database/database.ts";
import { deleteOldest } from "./database/delete-oldest.ts";
import type { CoreTables } from "./database/schema.ts";
import { ofSession, clockPlus, sessionNotFound, clock, inTransaction, ago } from "./database/session-row.ts";
import { StoreError } from "./errors.ts";
import { checkCursor, checkDuration, checkLimit, MAX_BATCH, checkCount } from "./rules/arguments.ts";

export interface NewOutboxRow {
  /** Unique in the session. The append to the log carries it, so that a repeat is detected. */
  readonly key: string;
  readonly draft: EventDraft;
  /** A position of the log before the row was added, if known. A search for a repeat stops there. */
  readonly since?: Cursor;
  /**
   * How long relays leave the row to the turn that starts next: it archives the entry anyway, which marks the row. Ignored
   * while a turn runs, because that one may take long.
   * @default 0
   */
  readonly relayAfterMs?: number;
}

export interface OutboxRow extends SessionRef {
  readonly id: number;
  readonly key: string;
  readonly draft: EventDraft;
  /** The row's entry can only be after this position: the given one, or the archived one when the row was added. */
  readonly since: Cursor;
  /** How many deliveries have failed. */
  readonly attempts: number;
  readonly createdAt: number;
}

export interface TakeQuery {
  /** Maximum number of sessions. */
  readonly limit: number;
  /** Ignores younger rows, which their writers deliver. */
  readonly olderThanMs: number;
  /** How long other relays leave these sessions to the caller. */
  readonly leaseMs: number;
}

/**
 * The part of the store for the outbox: committed events that must still reach the log. A row is added in the transaction that
 * makes it true. Afterwards its writer, or a relay if the writer died, appends it to the log.
 *
 *   added ──▶ delivered ──▶ archived ──▶ pruned
 *     ▲           │  its entry was lost with the log
 *     └───────────┘
 *
 * No lock is taken while appending, so two processes may deliver the same row: appends under one key happen once.
 *
 * Invariant: archiving marks the rows whose entries it has seen, in its own commit, and only archived entries are
 * trimmed. So a repeat is detected even after a trim.
 */
export interface Outbox {
  /**
   * Adds a row. Returns "already" and changes nothing if the session has a row with this key. Rows of a session are
   * numbered in the order in which their transactions commit.
   * @throws StoreError with NOT_FOUND if the session does not exist, with INVALID or TOO_LARGE for a row that no log
   *   would accept.
   */
  add(ref: SessionRef, row: NewOutboxRow): Promise<"added" | "already">;
  /** Returns the undelivered rows of a session in order. They must be delivered in this order. */
  undelivered(ref: SessionRef, limit: number): Promise<OutboxRow[]>;
  /** Returns true if the row still has to be delivered, and false if it is delivered, archived or deleted. */
  isUndelivered(ref: SessionRef, key: string): Promise<boolean>;
  /** Leases sessions with due rows, each to one relay at a time. */
  take(query: TakeQuery): Promise<SessionRef[]>;
  /**
   * Leases sessions with rows that were delivered at least `olderThanMs` ago and are not archived. A session may be
   * returned although another process just archived it.
   */
  takeUnarchived(query: TakeQuery): Promise<SessionRef[]>;
  /** Records that the row's event is in the log. Returns false if the row is already marked or missing. */
  delivered(ref: SessionRef, key: string, cursor: Cursor): Promise<boolean>;
  /** Delays the session's rows after a failed delivery, longer each time. */
  postpone(ref: SessionRef): Promise<void>;
  /**
   * Marks rows as undelivered that were delivered but not archived, because the log may have lost their entries. Always
   * safe: a second delivery changes nothing if the entry exists.
   * @returns how many
   */
  reopen(ref: SessionRef): Promise<number>;
  /**
   * Deletes rows that were archived that long ago, at most `limit`. Their keys count as new afterwards.
   * @returns how many
   */
  prune(query: { readonly olderThanMs: number; readonly limit: number }): Promise<number>;
}

/** How long a row waits after its n-th failure: 250 ms, doubling up to one minute. */
export function backoffMs(attempts: number): number {
  return Math.min(60_000, 250 * 2 ** Math.min(attempts - 1, 20));
}

/** Maximum length of an outbox key. */
const MAX_KEY = 250;

/**
 * Maximum size of a draft. An event in the log has at most 64 KiB, of which 512 bytes are for other fields and the key,
 * as in `log/writer/oversize.ts`.
 */
const MAX_DRAFT_BYTES = 65_536 - 512;

/**
 * Refuses rows that the log would refuse, because they would stay in the outbox forever.
 * @returns the draft as JSON
 */
export function checkOutboxRow({ key, draft }: NewOutboxRow): string {
  if (key.length > MAX_KEY || !WRITER_ID_PATTERN.test(key))
    throw new StoreError("INVALID", `outbox key must be ${WRITER_ID_RULE}, at most ${MAX_KEY} characters`);
  const json = JSON.stringify(draft);
  if (Buffer.byteLength(json) > MAX_DRAFT_BYTES)
    throw new StoreError("TOO_LARGE", `the event of outbox row ${key}`);
  return json;
}

/** Before every position. */
const START = { epoch: 0, seq: 0 };

export function postgresOutbox(db: Db): Outbox {
  return {
    async add(ref, row) {
      const draft = checkOutboxRow(row);
      const since = row.since === undefined ? START : checkCursor(row.since, "since");
      const dueIn = checkDuration(row.relayAfterMs ?? 0, "relayAfterMs");
      // One statement, so that a single row needs no transaction. The id is assigned under the lock: no row with a higher
      // id is visible before this one.
      const { rows } = await sql<{ is_added: boolean }>`
        with held as materialized (
          select tenant_id, id, archived_epoch, archived_seq,
            (archived_epoch, archived_seq) < (${since.epoch}::bigint, ${since.seq}::bigint) as is_later
          from sessions where tenant_id = ${ref.tenant} and id = ${ref.session} for no key update
        ), added as (
          insert into outbox (tenant_id, session_id, key, draft, since_epoch, since_seq, next_attempt_at)
          select tenant_id, id, ${row.key}::text, ${draft}::json,
            case when is_later then ${since.epoch}::bigint else archived_epoch end,
            case when is_later then ${since.seq}::bigint else archived_seq end,
            case when ${dueIn} = 0 or exists (select from running_turns r
              where r.tenant_id = held.tenant_id and r.session_id = held.id)
            then clock_timestamp() else ${clockPlus(dueIn)} end
          from held
          on conflict (tenant_id, session_id, key) do nothing
          returning id
        )
        select exists (select from added) as is_added from held`.execute(db);
      const [added] = rows;
      if (added === undefined) throw sessionNotFound(ref);
      return added.is_added ? "added" : "already";
    },
    async undelivered(ref, limit) {
      const rows = await undelivered(db, ref).limit(checkLimit(limit, MAX_BATCH)).execute();
      return rows.map(outboxRowOf);
    },
    async isUndelivered(ref, key) {
      return (await undelivered(db, ref).where("key", "=", key).executeTakeFirst()) !== undefined;
    },
    take: (query) => takeSessions(db, query),
    takeUnarchived: (query) => takeUnarchived(db, query),
    async delivered(ref, key, cursor) {
      const { epoch, seq } = checkCursor(cursor, "cursor");
      const { numUpdatedRows } = await ofSession(db.updateTable("outbox"), ref)
        .set({ delivered_at: clock, cursor_epoch: epoch, cursor_seq: seq })
        .where("key", "=", key)
        .where("delivered_at", "is", null)
        .executeTakeFirst();
      return numUpdatedRows === 1n;
    },
    postpone: (ref) =>
      inTransaction(db, async (tx) => {
        const first = await undelivered(tx, ref).limit(1).executeTakeFirst();
        if (first === undefined) return;
        const attempts = first.attempts + 1;
        // Later rows wait for the first one anyway. Delaying them too keeps `takeSessions` from scanning them each
        // time.
        await ofSession(tx.updateTable("outbox"), ref)
          .set({ next_attempt_at: clockPlus(backoffMs(attempts)) })
          .where("delivered_at", "is", null)
          .execute();
        await tx.updateTable("outbox").set({ attempts }).where("id", "=", first.id).execute();
      }),
    async reopen(ref) {
      const { numUpdatedRows } = await reopened(db, ref).executeTakeFirst();
      return Number(numUpdatedRows);
    },
    async prune({ olderThanMs, limit }) {
      const isOld = sql`archived_at <= ${ago(checkCount(olderThanMs, "olderThanMs"))}`;
      return deleteOldest(db, "outbox", { key: ["id"], isOld, by: sql`archived_at`, limit });
    },
  };
}

/** Makes rows due again that were delivered but not archived. */
export function reopened(db: Pick<Db, "updateTable">, ref: SessionRef) {
  return ofSession(db.updateTable("outbox"), ref)
    .set({
      delivered_at: null,
      cursor_epoch: null,
      cursor_seq: null,
      next_attempt_at: sql<Date>`clock_timestamp()`,
    })
    .where("delivered_at", "is not", null)
    .where("archived_at", "is", null);
}

function undelivered(db: Db, ref: SessionRef) {
  return ofSession(db.selectFrom("outbox"), ref).selectAll().where("delivered_at", "is", null).orderBy("id");
}

function outboxRowOf(row: Selectable<CoreTables["outbox"]>): OutboxRow {
  return {
    id: row.id,
    tenant: row.tenant_id,
    session: row.session_id,
    key: row.key,
    draft: row.draft,
    since: formatCursor({ epoch: row.since_epoch, seq: row.since_seq }),
    attempts: row.attempts,
    createdAt: row.created_at,
  };
}

/**
 * Leases sessions whose first undelivered row is due and not leased. It delays the row by the length of the lease, so
 * no lock outlives the statement.
 */
function takeSessions(db: Db, query: TakeQuery): Promise<SessionRef[]> {
  const isFirst = sql`not exists (select from outbox earlier
    where earlier.tenant_id = outbox.tenant_id and earlier.session_id = outbox.session_id
      and earlier.id < outbox.id and earlier.delivered_at is null)`;
  const before = ago(checkCount(query.olderThanMs, "olderThanMs"));
  const isDue = sql`delivered_at is null and created_at <= ${before} and ${isFirst}`;
  return leaseDue(db, query, { isDue, by: sql`next_attempt_at, id` });
}

/** Leases by the time of the next attempt, which a delivered row doesn't use otherwise. */
async function takeUnarchived(db: Db, query: TakeQuery): Promise<SessionRef[]> {
  const before = ago(checkCount(query.olderThanMs, "olderThanMs"));
  const isDue = sql`delivered_at is not null and archived_at is null and delivered_at <= ${before}`;
  const refs = await leaseDue(db, query, { isDue, by: sql`delivered_at` });
  return [...new Map(refs.map((ref) => [sessionKey(ref), ref])).values()];
}

/** Delays the next attempt at the chosen rows by the length of the lease. @returns their sessions */
async function leaseDue(
  db: Db,
  { limit, leaseMs }: TakeQuery,
  { isDue, by }: { readonly isDue: RawBuilder<unknown>; readonly by: RawBuilder<unknown> },
): Promise<SessionRef[]> {
  const { rows } = await sql<SessionRef>`
    with chosen as (
      select id from outbox where ${isDue} and next_attempt_at <= ${ago(0)}
      order by ${by} limit ${checkLimit(limit, MAX_BATCH)} for update skip locked)
    update outbox set next_attempt_at = ${clockPlus(checkCount(leaseMs, "leaseMs"))}
    where id in (select id from chosen)
    returning tenant_id as tenant, session_id as session`.execute(db);
  return rows;
}
