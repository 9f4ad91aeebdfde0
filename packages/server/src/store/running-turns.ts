/**
 * `RunningTurns` is the part of the store that reads running turns and asks them to stop, and `postgresRunning` its
 * implementation. `turn-queue.ts` starts and ends them.
 *
 * Invariant: a request to stop locks the session's row of `turn_queue` first, so that the turn isn't parked meanwhile.
 */
import { sql } from "kysely";
import type { SessionRef } from "../util/refs.ts";
import type { Db } from "./database/database.ts";
import { ofSession, inTransaction, ago, clock } from "./database/session-row.ts";
import { StoreError } from "./errors.ts";
import { checkId, MAX_BATCH, checkLimit, checkDuration } from "./rules/arguments.ts";
import { type RunningTurn, runningTurn, turnOf, runningTurns } from "./running-turn.ts";
import { tryLockTurn, wake } from "./turn-queue.ts";

/**
 * - "stopping": the stop was recorded now. "already": it was requested before. Both confirm the stop.
 * - "over": that turn isn't running.
 */
export type StopReceipt = "stopping" | "already" | "over";

/**
 * The part of the store that reads running turns and asks them to stop. `TurnQueue` starts and ends them. At most one per session,
 * from taking its message until its end is in the log.
 */
export interface RunningTurns {
  get(ref: SessionRef): Promise<RunningTurn | null>;
  /**
   * Excludes an attempt from `attemptsWithoutProgress`, because its process handed it over in good order. Does nothing
   * once another attempt has started.
   */
  forgive(ref: SessionRef, attempt: { readonly turn: string; readonly attempts: number }): Promise<void>;
  /** Requests a stop of a turn, or of the running turn if `turn` is absent. */
  requestStop(
    ref: SessionRef,
    stop: { readonly turn?: string; readonly by?: string },
  ): Promise<{ readonly receipt: StopReceipt; readonly turn: string | null }>;
  /** Returns turns with a stop request, oldest request first. */
  stopping(query: { readonly limit: number }): Promise<RunningTurn[]>;
  /**
   * Returns the running turns of at most 1,000 sessions whose process has left them or has lost its lease, by the store's
   * clock. Another worker will continue them. In no order.
   */
  interrupted(sessions: readonly SessionRef[]): Promise<(SessionRef & { readonly turn: string })[]>;
  /** Returns sessions whose next message has been queued that long without a turn, in the order of the queue. */
  startable(query: { readonly olderThanMs: number; readonly limit: number }): Promise<SessionRef[]>;
}

/** Converts absent fields to null: a stop of any turn, or by no particular user. */
export function checkStop(stop: { readonly turn?: string; readonly by?: string }) {
  return {
    turn: stop.turn === undefined ? null : checkId(stop.turn, "turn"),
    by: stop.by === undefined ? null : checkId(stop.by, "by"),
  };
}

export function checkSessions(sessions: readonly SessionRef[]): void {
  if (sessions.length > MAX_BATCH)
    throw new StoreError(
      "INVALID",
      `sessions must have at most ${MAX_BATCH} elements, got ${sessions.length}`,
    );
}

export function postgresRunning(db: Db): RunningTurns {
  return {
    async get(ref) {
      const row = await runningTurn(db, ref).executeTakeFirst();
      return row === undefined ? null : turnOf(row);
    },
    async forgive(ref, { turn, attempts }) {
      await ofSession(db.updateTable("running_turns"), ref)
        .set((eb) => ({ fruitless: eb("fruitless", "-", 1) }))
        .where("turn", "=", turn)
        .where("attempts", "=", attempts)
        .where("fruitless", ">", 0)
        .execute();
    },
    requestStop: (ref, stop) => inTransaction(db, (tx) => requestStop(tx, ref, stop)),
    async stopping({ limit }) {
      const rows = await runningTurns(db)
        .where(sql<boolean>`stop_at is not null`)
        .orderBy("stop_at")
        .limit(checkLimit(limit, MAX_BATCH))
        .execute();
      return rows.map(turnOf);
    },
    async interrupted(sessions) {
      checkSessions(sessions);
      const [tenants, ids] = [sessions.map(({ tenant }) => tenant), sessions.map(({ session }) => session)];
      // `limit` keeps the planner from reading whole tables: every row is found by its key.
      const { rows } = await sql<{ tenant: string; session: string; turn: string }>`
        select q.tenant_id as tenant, q.session_id as session, q.turn
        from unnest(${tenants}::text[], ${ids}::text[]) named(tenant_id, id)
        cross join lateral (
          select * from turn_queue where tenant_id = named.tenant_id and session_id = named.id limit 1) q
        cross join lateral (
          select attempts, parked_at from running_turns
          where tenant_id = named.tenant_id and session_id = named.id limit 1) r
        where case when q.executor is null then r.attempts > 0 and r.parked_at is null
          else exists (select from leases where leases.executor = q.executor and leases.until < ${ago(0)}) end`.execute(
        db,
      );
      return rows;
    },
    async startable({ olderThanMs, limit }) {
      const before = ago(checkDuration(olderThanMs, "olderThanMs"));
      const { rows } = await sql<SessionRef>`
        select tenant_id as tenant, session_id as session from turn_queue
        where executor is null and rank is not null and turn is null and queued_at <= ${before}
        order by rank limit ${checkLimit(limit, MAX_BATCH)}`.execute(db);
      return rows;
    },
  };
}

async function requestStop(
  tx: Db,
  ref: SessionRef,
  stop: { readonly turn?: string; readonly by?: string },
): Promise<{ readonly receipt: StopReceipt; readonly turn: string | null }> {
  const { turn, by } = checkStop(stop);
  const running = (await tryLockTurn(tx, ref))?.turn ?? null;
  if (running === null || (turn !== null && running !== turn)) return { receipt: "over", turn: null };
  const { numUpdatedRows } = await ofSession(tx.updateTable("running_turns"), ref)
    .set({ stop_by: by, stop_at: clock })
    .where("stop_at", "is", null)
    .executeTakeFirst();
  if (numUpdatedRows === 0n) return { receipt: "already", turn: running };
  await wake(tx, ref);
  return { receipt: "stopping", turn: running };
}
