/**
 * `postgresRunning` implements running turns on PostgreSQL. `start-turn.ts` starts and ends them.
 *
 * Invariant: the primary key allows one running turn per session. Whatever starts, parks, wakes or ends a turn locks the
 * session's row, like adding a message. Every other change of a running turn first locks the session against erasure,
 * in the same statement.
 */
import { sql } from "kysely";
import type { NewTurn, RunningTurn, RunningTurns, StopReceipt } from "../ports/running.ts";
import { MAX_BATCH } from "../ports/sessions.ts";
import type { SessionRef } from "../../util/refs.ts";
import { checkDuration, checkLimit, checkTime } from "../rules/arguments.ts";
import { agentOf } from "../rules/jobs.ts";
import { checkFence, checkNewTurn, checkSessions, checkStop } from "../rules/running.ts";
import type { Db } from "./database.ts";
import type { JobQueue } from "./job-queue.ts";
import { COLUMNS, newestEntry, runningTurn, runningTurns, turnOf } from "./running-rows.ts";
import {
  ago,
  clock,
  withSessionLock,
  inTransaction,
  lockSession,
  ofSession,
  ownerColumn,
  rowOf,
  tryLockSession,
} from "./session-row.ts";
import { endTurn, replaceJob, startTurn } from "./start-turn.ts";
import { newJobId, nextRank, QUEUED_COLUMNS, queueAgent, queueParked, toJob } from "./turn-jobs.ts";
import { callerColumns, NOT_QUEUED } from "./waiting.ts";

export function postgresRunning(db: Db, queue: JobQueue): RunningTurns {
  return {
    begin: (ref, turn) => inTransaction(db, (tx) => begin(tx, queue, ref, turn)),
    async get(ref) {
      const row = await runningTurn(db, ref).executeTakeFirst();
      return row === undefined ? null : turnOf(row);
    },
    start: (job, by) =>
      inTransaction(db, async (tx) => {
        const row = await startTurn(tx, queue, job, by);
        return row === null ? null : turnOf(row);
      }),
    park: (job, turn, { wakeAt }) =>
      inTransaction(db, async (tx) => {
        const time = wakeAt === null ? null : new Date(checkTime(wakeAt, "wakeAt"));
        if ((await tryLockSession(tx, job)) === null) return false;
        const row = await ofSession(tx.updateTable("running_turns"), job)
          .set({ job: null, executor: null, rank: null, parked_at: clock, wake_at: time })
          .where("turn", "=", turn)
          .where("job", "=", job.id)
          .where("executor", "is not", null)
          .returning("stop_at")
          .executeTakeFirst();
        if (row !== undefined && row.stop_at !== null) await queueParked(tx, queue, job);
        return row !== undefined;
      }),
    wake: (ref) =>
      inTransaction(
        db,
        async (tx) => (await tryLockSession(tx, ref)) !== null && queueParked(tx, queue, ref),
      ),
    async attempt(ref, turn) {
      const row = await withSessionLock(db, ref)
        .updateTable("running_turns")
        .from("held")
        .set((eb) => ({
          attempts: eb("attempts", "+", 1),
          fruitless: sql<number>`case when ${newestEntry(ref)} > journaled then 1 else fruitless + 1 end`,
          journaled: newestEntry(ref),
        }))
        .whereRef("running_turns.tenant_id", "=", "held.tenant_id")
        .whereRef("running_turns.session_id", "=", "held.id")
        .where("turn", "=", turn)
        .returning([...COLUMNS, "held.id", "held.tenant_id", "held.user_id"])
        .executeTakeFirst();
      return row === undefined ? null : turnOf(row);
    },
    async forgive(ref, { turn, attempts }) {
      await withSessionLock(db, ref)
        .updateTable("running_turns")
        .from("held")
        .set((eb) => ({ fruitless: eb("fruitless", "-", 1) }))
        .whereRef("running_turns.tenant_id", "=", "held.tenant_id")
        .whereRef("running_turns.session_id", "=", "held.id")
        .where("turn", "=", turn)
        .where("attempts", "=", attempts)
        .where("fruitless", ">", 0)
        .execute();
    },
    requestStop: (ref, stop) => inTransaction(db, (tx) => requestStop(tx, queue, ref, stop)),
    end: (ref, turn, { epoch = Infinity } = {}) =>
      inTransaction(db, async (tx) => {
        // The next statement sees the messages of those who had the lock before.
        const session = await tryLockSession(tx, ref);
        if (session === null) return "over";
        checkFence(ref, session.epoch, epoch);
        return endTurn(tx, queue, ref, turn);
      }),
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
      const { rows } = await sql<{ tenant_id: string; session_id: string; turn: string }>`
        select r.tenant_id, r.session_id, r.turn
        from unnest(${tenants}::text[], ${ids}::text[]) named(tenant_id, id)
        cross join lateral (
          select * from running_turns where tenant_id = named.tenant_id and session_id = named.id limit 1) r
        where case when r.executor is null then r.attempts > 0 and r.parked_at is null
          else exists (select from leases where leases.executor = r.executor and leases.until < ${ago(0)}) end`.execute(
        db,
      );
      return rows.map((row) => ({ tenant: row.tenant_id, session: row.session_id, turn: row.turn }));
    },
    startable: ({ olderThanMs, limit }) =>
      startable(db, checkDuration(olderThanMs, "olderThanMs"), checkLimit(limit, MAX_BATCH)),
  };
}

async function requestStop(
  tx: Db,
  queue: JobQueue,
  ref: SessionRef,
  stop: { readonly turn?: string; readonly by?: string },
): Promise<{ readonly receipt: StopReceipt; readonly turn: string | null }> {
  const { turn, by } = checkStop(stop);
  let asked = withSessionLock(tx, ref)
    .updateTable("running_turns")
    .from("held")
    .set({ stop_by: by, stop_at: clock })
    .whereRef("running_turns.tenant_id", "=", "held.tenant_id")
    .whereRef("running_turns.session_id", "=", "held.id")
    .where("stop_at", "is", null)
    .returning(["turn", "parked_at"]);
  if (turn !== null) asked = asked.where("turn", "=", turn);
  const first = await asked.executeTakeFirst();
  if (first !== undefined) {
    // The row is locked, so it can't be parked or woken meanwhile.
    if (first.parked_at !== null) await queueParked(tx, queue, ref);
    return { receipt: "stopping", turn: first.turn };
  }
  const there = await runningTurn(tx, ref).where("stop_at", "is not", null).executeTakeFirst();
  return there === undefined || (turn !== null && there.turn !== turn)
    ? { receipt: "over", turn: null }
    : { receipt: "already", turn: there.turn };
}

async function begin(tx: Db, queue: JobQueue, ref: SessionRef, turn: NewTurn): Promise<RunningTurn | null> {
  const checked = checkNewTurn(turn);
  // Concurrent calls queue up here, as for taking a message. The statements below see the changes of earlier calls.
  await lockSession(tx, ref);
  if (checked.retries === null) {
    if ((await take(tx, ref, checked.turn)).numInsertedOrUpdatedRows !== 1n) return null;
  } else {
    const row = await retry(tx, ref, checked, agentOf(turn.options));
    if (row === undefined) return null;
    await replaceJob(tx, queue, ref);
    await queue.add(tx, toJob(ref, row));
    await ofSession(tx.deleteFrom("dead_turns"), ref).where("turn", "=", checked.retries).execute();
  }
  return postgresRunning(tx, queue).get(ref);
}

function retry(
  tx: Db,
  ref: SessionRef,
  { turn, retries, options, ...caller }: ReturnType<typeof checkNewTurn>,
  agent: string | null,
) {
  const job = { agent, queue_agent: queueAgent(agent), job: newJobId(), rank: nextRank(ref) };
  return tx
    .insertInto("running_turns")
    .values({ ...rowOf(ref), turn, retries, options, ...callerColumns(caller), ...ownerColumn(ref), ...job })
    .onConflict((oc) => oc.columns(["tenant_id", "session_id"]).doNothing())
    .returning(QUEUED_COLUMNS)
    .executeTakeFirst();
}

/** What a turn copies from its message. */
const COPIED = ["options", "owner", "key_id", "usage_limits", "agent", "queue_agent", "job", "rank"] as const;

/** One statement: takes the oldest message out of the queue and inserts its turn. */
function take(tx: Db, ref: SessionRef, turn: string) {
  return tx
    .with("oldest", (qb) =>
      ofSession(qb.selectFrom("waiting_messages"), ref)
        .select(["tenant_id", "session_id", "id", "body", "by_user", "added_at", ...COPIED])
        .where("body", "is not", null)
        .where((eb) =>
          eb.not(
            eb.exists(
              eb
                .selectFrom("running_turns")
                .select("turn")
                .where("running_turns.tenant_id", "=", ref.tenant)
                .where("running_turns.session_id", "=", ref.session),
            ),
          ),
        )
        .orderBy("n")
        .limit(1),
    )
    .with("settled", (qb) =>
      qb
        .updateTable("waiting_messages")
        .from("oldest")
        .set(NOT_QUEUED)
        .whereRef("waiting_messages.tenant_id", "=", "oldest.tenant_id")
        .whereRef("waiting_messages.session_id", "=", "oldest.session_id")
        .whereRef("waiting_messages.id", "=", "oldest.id"),
    )
    .insertInto("running_turns")
    .columns([
      "tenant_id",
      "session_id",
      "turn",
      "message_id",
      "message",
      "message_by",
      "message_at",
      ...COPIED,
    ])
    .expression((eb) =>
      eb
        .selectFrom("oldest")
        .select([
          "tenant_id",
          "session_id",
          sql<string>`${turn}::text`.as("turn"),
          "id",
          "body",
          "by_user",
          "added_at",
          ...COPIED,
        ]),
    )
    .executeTakeFirstOrThrow();
}

/** The next message of a session without a turn has a job, so messages behind a turn are not read. */
async function startable(db: Db, olderThanMs: number, limit: number): Promise<SessionRef[]> {
  const rows = await db
    .selectFrom("waiting_messages")
    .select(["tenant_id", "session_id"])
    // A literal instead of a parameter, so that the planner can use the partial index.
    .where(sql<boolean>`job is not null`)
    .where("added_at", "<=", ago(olderThanMs))
    .orderBy("added_at")
    .orderBy("n")
    .limit(limit)
    .execute();
  return rows.map((row) => ({ tenant: row.tenant_id, session: row.session_id }));
}
