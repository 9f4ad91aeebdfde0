/**
 * `postgresRunning` and `postgresWaiting` implement running turns and queued messages on PostgreSQL.
 *
 * Invariant: the primary key allows one running turn per session. Starting a turn locks the session's row, like taking
 * a message. Every other change of a running turn first locks the session against erasure, in the same statement.
 */
import { sql } from "kysely";
import type { UserMessage } from "@turnstream/protocol";
import {
  checkMessage,
  type NewMessage,
  type NewTurn,
  type RunningTurns,
  type RunningTurn,
  type QueuedMessages,
  queuedMessageBody,
} from "../ports/running.ts";
import { MAX_BATCH } from "../ports/sessions.ts";
import type { SessionRef } from "../../util/refs.ts";
import { checkDuration, checkLimit } from "../rules/arguments.ts";
import {
  checkNewTurn,
  checkOptions,
  checkSessions,
  checkStop,
  checkTurnCaller,
  type StoredTurnCaller,
} from "../rules/running.ts";
import type { Db } from "./database.ts";
import {
  ago,
  clock,
  withSessionLock,
  inTransaction,
  lockSession,
  ofSession,
  ownerColumn,
  rowOf,
} from "./session-row.ts";

export function postgresRunning(db: Db): RunningTurns {
  return {
    begin: (ref, turn) => inTransaction(db, (tx) => begin(tx, ref, turn)),
    async get(ref) {
      const row = await runningTurn(db, ref).executeTakeFirst();
      return row === undefined ? null : turnOf(row);
    },
    async attempt(ref, turn) {
      const row = await withSessionLock(db, ref)
        .updateTable("running_turns")
        .from("held")
        .set((eb) => ({
          attempts: eb("attempts", "+", 1),
          fruitless: sql<number>`case when ${newest} > journaled then 1 else fruitless + 1 end`,
          journaled: newest,
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
    async requestStop(ref, stop) {
      const { turn, by } = checkStop(stop);
      let asked = withSessionLock(db, ref)
        .updateTable("running_turns")
        .from("held")
        .set({ stop_by: by, stop_at: clock })
        .whereRef("running_turns.tenant_id", "=", "held.tenant_id")
        .whereRef("running_turns.session_id", "=", "held.id")
        .where("stop_at", "is", null)
        .returning("turn");
      if (turn !== null) asked = asked.where("turn", "=", turn);
      const first = await asked.executeTakeFirst();
      if (first !== undefined) return { receipt: "stopping", turn: first.turn };
      const there = await runningTurn(db, ref).where("stop_at", "is not", null).executeTakeFirst();
      return there === undefined || (turn !== null && there.turn !== turn)
        ? { receipt: "over", turn: null }
        : { receipt: "already", turn: there.turn };
    },
    async end(ref, turn) {
      const { numDeletedRows } = await withSessionLock(db, ref)
        .deleteFrom("running_turns")
        .using("held")
        .whereRef("running_turns.tenant_id", "=", "held.tenant_id")
        .whereRef("running_turns.session_id", "=", "held.id")
        .where("turn", "=", turn)
        .executeTakeFirst();
      return numDeletedRows === 1n;
    },
    async unattempted({ olderThanMs, limit }) {
      const rows = await runningTurns(db)
        // A literal instead of a parameter, so that the planner can use the partial index.
        .where(sql<boolean>`attempts = 0`)
        .where("begun_at", "<=", ago(checkDuration(olderThanMs, "olderThanMs")))
        .orderBy("begun_at")
        .limit(checkLimit(limit, MAX_BATCH))
        .execute();
      return rows.map(turnOf);
    },
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
      // `limit` keeps the planner from reading whole tables: every row is found by its key. An epoch from before the
      // turn's begin belongs to an earlier turn.
      const { rows } = await sql<{ tenant_id: string; session_id: string; turn: string }>`
        select s.tenant_id, r.session_id, r.turn
        from unnest(${tenants}::text[], ${ids}::text[]) named(tenant_id, id)
        cross join lateral (
          select * from running_turns where tenant_id = named.tenant_id and session_id = named.id limit 1) r
        cross join lateral (select * from sessions where tenant_id = r.tenant_id and id = r.session_id limit 1) s
        cross join lateral (
          select by from session_epochs e
          where e.tenant_id = s.tenant_id and e.session_id = s.id and e.epoch = s.epoch and e.at >= r.begun_at limit 1) e
        join leases on leases.executor = e.by and leases.until < ${ago(0)}`.execute(db);
      return rows.map((row) => ({ tenant: row.tenant_id, session: row.session_id, turn: row.turn }));
    },
    startable: ({ olderThanMs, limit }) =>
      startable(db, checkDuration(olderThanMs, "olderThanMs"), checkLimit(limit, MAX_BATCH)),
  };
}

const COLUMNS = [
  "turn",
  "message_id",
  "message",
  "message_by",
  "message_at",
  "retries",
  "options",
  "begun_at",
  "attempts",
  "fruitless",
  "stop_by",
  "stop_at",
  "key_id",
  "usage_limits",
] as const;

/** The newest journal entry of a row of `running_turns`. */
const newest = sql<number>`coalesce((select max(n) from turn_journal j
  where j.tenant_id = running_turns.tenant_id and j.session_id = running_turns.session_id and j.turn = running_turns.turn), 0)`;

function runningTurns(db: Db) {
  return db
    .selectFrom("running_turns")
    .innerJoin("sessions", (join) =>
      join
        .onRef("sessions.tenant_id", "=", "running_turns.tenant_id")
        .onRef("sessions.id", "=", "running_turns.session_id"),
    )
    .select([...COLUMNS, "sessions.id", "sessions.tenant_id", "sessions.user_id"]);
}

function runningTurn(db: Db, ref: SessionRef) {
  return runningTurns(db)
    .where("running_turns.tenant_id", "=", ref.tenant)
    .where("running_turns.session_id", "=", ref.session);
}

type TurnRow = Awaited<ReturnType<ReturnType<typeof runningTurns>["execute"]>>[number];

function turnOf(row: TurnRow): RunningTurn {
  return {
    tenant: row.tenant_id,
    session: row.id,
    user: row.user_id,
    turn: row.turn,
    message: messageOf(row),
    retries: row.retries,
    options: row.options,
    startedAt: row.begun_at,
    attempts: row.attempts,
    attemptsWithoutProgress: row.fruitless,
    stop: row.stop_at === null ? null : { by: row.stop_by, at: row.stop_at },
    apiKey: row.key_id,
    usageLimits: row.usage_limits,
  };
}

function messageOf({ message_id: id, message, message_by: by, message_at: at }: TurnRow): UserMessage | null {
  return id === null || message === null || at === null ? null : { id, ...message, by, at };
}

async function begin(tx: Db, ref: SessionRef, turn: NewTurn): Promise<RunningTurn | null> {
  const checked = checkNewTurn(turn);
  // Concurrent calls queue up here, as for taking a message. The statements below see the changes of earlier calls.
  await lockSession(tx, ref);
  const { numInsertedOrUpdatedRows } =
    checked.retries === null ? await take(tx, ref, checked.turn) : await retry(tx, ref, checked);
  if (numInsertedOrUpdatedRows !== 1n) return null;
  return postgresRunning(tx).get(ref);
}

function callerColumns({ apiKey, usageLimits }: StoredTurnCaller) {
  return { key_id: apiKey, usage_limits: usageLimits };
}

function retry(
  tx: Db,
  ref: SessionRef,
  { turn, retries, options, ...caller }: ReturnType<typeof checkNewTurn>,
) {
  return tx
    .insertInto("running_turns")
    .values({ ...rowOf(ref), turn, retries, options, ...callerColumns(caller), ...ownerColumn(ref) })
    .onConflict((oc) => oc.columns(["tenant_id", "session_id"]).doNothing())
    .executeTakeFirstOrThrow();
}

/** What a turn copies from its message. */
const COPIED = ["options", "owner", "key_id", "usage_limits"] as const;
/** A row without a body is no longer queued. */
const NOT_QUEUED = { body: null, by_user: null, options: null, usage_limits: null };

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

/** Scans the queued messages, oldest first, and skips all but the first of each session. */
async function startable(db: Db, olderThanMs: number, limit: number): Promise<SessionRef[]> {
  const rows = await db
    .selectFrom("waiting_messages as w")
    .select(["w.tenant_id", "w.session_id"])
    .where("w.body", "is not", null)
    .where("w.added_at", "<=", ago(olderThanMs))
    .where(
      sql<boolean>`not exists (select from waiting_messages earlier
        where earlier.tenant_id = w.tenant_id and earlier.session_id = w.session_id
          and earlier.body is not null and earlier.n < w.n)`,
    )
    .where(
      sql<boolean>`not exists (select from running_turns r
        where r.tenant_id = w.tenant_id and r.session_id = w.session_id)`,
    )
    .orderBy("w.added_at")
    .orderBy("w.n")
    .limit(limit)
    .execute();
  return rows.map((row) => ({ tenant: row.tenant_id, session: row.session_id }));
}

export function postgresWaiting(db: Db): QueuedMessages {
  return {
    add: (ref, message) => inTransaction(db, (tx) => add(tx, ref, message)),
    remove: (ref, id) =>
      inTransaction(db, async (tx) => {
        await lockSession(tx, ref);
        return settle(tx, ref, id);
      }),
    async list(ref) {
      return (await waitingOf(db, ref).limit(MAX_BATCH).execute()).flatMap(queuedMessage);
    },
    take: (ref) =>
      inTransaction(db, async (tx) => {
        // Concurrent calls queue up here. Locking the message instead would give the second call nothing, or the wrong
        // message.
        await lockSession(tx, ref);
        const [message] = (await waitingOf(tx, ref).limit(1).execute()).flatMap(queuedMessage);
        if (message === undefined) return null;
        await settle(tx, ref, message.id);
        return message;
      }),
  };
}

async function add(tx: Db, ref: SessionRef, message: NewMessage) {
  const { id, by } = checkMessage(message);
  const options = checkOptions(message.options);
  // The number is assigned under the lock, so that numbers follow the order of commits.
  await lockSession(tx, ref);
  const { numInsertedOrUpdatedRows } = await tx
    .insertInto("waiting_messages")
    .values({
      ...rowOf(ref),
      id,
      body: JSON.stringify(queuedMessageBody(message)),
      by_user: by,
      options,
      ...callerColumns(checkTurnCaller(message)),
      ...ownerColumn(ref),
    })
    .onConflict((oc) => oc.columns(["tenant_id", "session_id", "id"]).doNothing())
    .executeTakeFirst();
  return numInsertedOrUpdatedRows === 1n ? "added" : "already";
}

function waitingOf(db: Db, ref: SessionRef) {
  return ofSession(db.selectFrom("waiting_messages"), ref)
    .select(["id", "body", "by_user", "added_at"])
    .where("body", "is not", null)
    .orderBy("n");
}

type MessageRow = Awaited<ReturnType<ReturnType<typeof waitingOf>["execute"]>>[number];

function queuedMessage(row: MessageRow): UserMessage[] {
  return row.body === null ? [] : [{ id: row.id, ...row.body, by: row.by_user, at: row.added_at }];
}

async function settle(tx: Db, ref: SessionRef, id: string): Promise<boolean> {
  const { numUpdatedRows } = await ofSession(tx.updateTable("waiting_messages"), ref)
    .set(NOT_QUEUED)
    .where("id", "=", id)
    .where("body", "is not", null)
    .executeTakeFirst();
  return numUpdatedRows === 1n;
}
