/**
 * `postgresSessions`, `postgresEpochs` and `postgresUserNumbers` implement sessions and their owners on PostgreSQL.
 *
 * Invariant: calls with an `Actor` filter by tenant and user. A new session is refused while its id is being erased,
 * checked after the insert. One UPDATE issues an epoch or a session number, and its row lock makes it unique. An index
 * has the order of a page; see the plan tests.
 */
import { sql } from "kysely";
import type { Env } from "../../util/env.ts";
import { StoreError } from "../errors.ts";
import {
  type Epochs,
  MAX_BATCH,
  MAX_PAGE,
  type NewSession,
  type SessionWithEpoch,
  type UserNumbers,
  type Sessions,
} from "../ports/sessions.ts";
import type { Actor, SessionRef } from "../../util/refs.ts";
import {
  checkCount,
  checkId,
  checkLimit,
  checkSessionId,
  checkText,
  firstEpoch,
} from "../rules/arguments.ts";
import { formatPageToken, parsePageToken } from "../rules/page-token.ts";
import type { Db } from "./database.ts";
import { reopened } from "./outbox.ts";
import {
  eraseExpired,
  eraseSessions,
  eraseUser,
  finishErasure,
  pendingErasures,
  takeErasures,
} from "./erase-sessions.ts";
import {
  bytewiseOrder,
  clock,
  inTransaction,
  ofSession,
  sessionNotFound,
  SESSION_COLUMNS,
  sessionOf,
} from "./session-row.ts";
import { existingTenant } from "./tenant-row.ts";

export function postgresSessions(db: Db, env: Env): Sessions {
  return {
    create: (actor, session) => create(db, env, actor, session),
    async get(actor, id) {
      const row = await owned(db, actor, id).select(SESSION_COLUMNS).executeTakeFirst();
      return row === undefined ? null : sessionOf(row);
    },
    async owners(tenant, ids) {
      checkLimit(ids.length, MAX_BATCH);
      const rows = await db
        .selectFrom("sessions")
        .select(["id", "user_id"])
        .where("tenant_id", "=", tenant)
        .where("id", "=", sql<string>`any(${[...ids]}::text[])`)
        .execute();
      return new Map(rows.map(({ id, user_id }) => [id, user_id]));
    },
    async byNumber(actor, number) {
      const row = await db
        .selectFrom("sessions")
        .select(SESSION_COLUMNS)
        .where("tenant_id", "=", actor.tenant)
        .where("number", "=", number)
        .where("user_id", "=", actor.user)
        .executeTakeFirst();
      return row === undefined ? null : sessionOf(row);
    },
    find: (ref) => findSession(db, ref),
    list: (actor, page) => list(db, actor, page),
    async rename(actor, id, title) {
      const row = await db
        .updateTable("sessions")
        .set({ title: checkText(title, "title"), updated_at: clock })
        .where("id", "=", id)
        .where("tenant_id", "=", actor.tenant)
        .where("user_id", "=", actor.user)
        .returning(SESSION_COLUMNS)
        .executeTakeFirst();
      if (row === undefined) throw sessionNotFound({ tenant: actor.tenant, session: id });
      return sessionOf(row);
    },
    async touch(ref) {
      const { numUpdatedRows } = await db
        .updateTable("sessions")
        .set({ updated_at: clock })
        .where("id", "=", ref.session)
        .where("tenant_id", "=", ref.tenant)
        .executeTakeFirst();
      if (numUpdatedRows === 0n) throw sessionNotFound(ref);
    },
    async remove({ tenant, session }) {
      // Without a session id, `eraseSessions` would erase all sessions of the tenant.
      const target = { tenant: checkId(tenant, "tenant"), session: checkId(session, "session") };
      return (await eraseSessions(db, target)).length > 0;
    },
    removeUser: (tenant, user) => eraseUser(db, tenant, user),
    removeExpired: (query) => eraseExpired(db, query),
    pendingErasures: (limit) => pendingErasures(db, limit),
    takeErasures: (query) => takeErasures(db, query),
    erased: (ref, query) => finishErasure(db, ref, query),
  };
}

function owned(db: Db, actor: Actor, id: string) {
  return db
    .selectFrom("sessions")
    .where("id", "=", id)
    .where("tenant_id", "=", actor.tenant)
    .where("user_id", "=", actor.user);
}

async function create(db: Db, env: Env, actor: Actor, session: NewSession) {
  const values = {
    id: checkSessionId(session.id),
    tenant_id: checkId(actor.tenant, "tenant id"),
    user_id: checkId(actor.user, "user id"),
    title: session.title === undefined ? null : checkText(session.title, "title"),
    forked_from_share: session.forkedTurns !== undefined,
    forked_turns: session.forkedTurns === undefined ? 0 : checkCount(session.forkedTurns, "forkedTurns"),
  };
  // The first claim gets the next number.
  const epoch = firstEpoch(session.firstEpoch, env) - 1;
  const number = await nextNumber(db, actor.tenant);
  return inTransaction(db, async (tx) => {
    const row = await tx
      .with("created", (qb) =>
        qb
          .insertInto("sessions")
          .values({ ...values, tenant_id: existingTenant(values.tenant_id), number })
          .returning(SESSION_COLUMNS),
      )
      .with("queue", (qb) =>
        qb
          .insertInto("turn_queue")
          .columns(["tenant_id", "session_id", "owner", "epoch"])
          .expression((eb) =>
            eb
              .selectFrom("created")
              .select(["tenant_id", "id", "user_id", sql<number>`${epoch}::bigint`.as("epoch")]),
          ),
      )
      .selectFrom("created")
      .selectAll()
      .executeTakeFirstOrThrow();
    // The old log may still exist, and its deletion would delete the new one. Check after the insert, which waits for a
    // running erasure.
    const ref = { tenant: actor.tenant, session: values.id };
    const note = await ofSession(tx.selectFrom("erasures"), ref).select("session_id").executeTakeFirst();
    if (note !== undefined) throw new StoreError("EXISTS", `session ${values.id} is still being erased`);
    return { ...sessionOf(row), epoch };
  });
}

/**
 * Counts the sessions of a tenant. Outside a transaction the count is committed at once, so that concurrent calls don't
 * wait for each other's disk writes. The WAL keeps the order: a stored session never comes without its count. A failed
 * creation leaves a gap.
 */
async function nextNumber(db: Db, tenant: string): Promise<number> {
  const counted = db
    .insertInto("session_counters")
    .values({ tenant_id: existingTenant(tenant), last: 1 })
    .onConflict((oc) => oc.column("tenant_id").doUpdateSet({ last: sql<number>`session_counters.last + 1` }))
    .returning("last");
  const { last } = await (
    db.isTransaction
      ? counted
      : counted.returning(sql<string>`set_config('synchronous_commit', 'off', true)`.as("setting"))
  ).executeTakeFirstOrThrow();
  return last;
}

async function list(db: Db, actor: Actor, page: { limit: number; before?: string }) {
  const limit = checkLimit(page.limit, MAX_PAGE);
  let query = db
    .selectFrom("sessions")
    .select(SESSION_COLUMNS)
    .where("tenant_id", "=", actor.tenant)
    .where("user_id", "=", actor.user)
    .orderBy("updated_at", "desc")
    .orderBy(bytewiseOrder("id"), "desc")
    .limit(limit + 1);
  if (page.before !== undefined) {
    const { time, id } = parsePageToken(page.before);
    const end = sql`(${new Date(time)}::timestamptz, ${id})`;
    query = query.where(sql<boolean>`(updated_at, ${bytewiseOrder("id")}) < ${end}`);
  }
  const sessions = (await query.execute()).map(sessionOf);
  const more = sessions.length > limit;
  if (more) sessions.pop();
  const last = sessions.at(-1);
  return {
    sessions,
    next: more && last !== undefined ? formatPageToken({ time: last.updatedAt, id: last.id }) : null,
  };
}

/** The row lock of the UPDATE makes each number unique. */
export function postgresEpochs(db: Db): Epochs {
  return {
    async next(ref, { seen, ifEpoch, ifIdle = false }) {
      let issue = ofSession(db.updateTable("turn_queue"), ref).set({
        epoch: sql<number>`greatest(epoch, ${checkCount(seen, "seen")}::bigint) + 1`,
      });
      if (ifEpoch !== undefined) issue = issue.where("epoch", "=", checkCount(ifEpoch, "ifEpoch"));
      if (ifIdle) issue = issue.where("turn", "is", null);
      const row = await issue.returning("epoch").executeTakeFirst();
      // A statement of its own, so that the archived position is that under the new epoch.
      const session = await findSession(db, ref);
      if (session === null) throw sessionNotFound(ref);
      if (row === undefined) throw new StoreError("CONFLICT", `epoch of session ${ref.session}`);
      return { ...session, epoch: row.epoch };
    },
    async confirm(ref, lostAfter) {
      if (lostAfter !== undefined)
        await db
          .updateTable("sessions")
          .set({ lost_after: checkCount(lostAfter, "lostAfter") })
          .where("tenant_id", "=", ref.tenant)
          .where("id", "=", ref.session)
          .execute();
      const row = await ofSession(
        db.with("reopened", (qb) => reopened(qb, ref)).selectFrom("turn_queue"),
        ref,
      )
        .select("epoch")
        .executeTakeFirst();
      return row?.epoch ?? null;
    },
  };
}

async function findSession(db: Db, ref: SessionRef): Promise<SessionWithEpoch | null> {
  const row = await db
    .selectFrom("sessions")
    .innerJoin("turn_queue as q", (join) =>
      join.onRef("q.tenant_id", "=", "sessions.tenant_id").onRef("q.session_id", "=", "sessions.id"),
    )
    .select([...SESSION_COLUMNS, "q.epoch"])
    .where("sessions.id", "=", ref.session)
    .where("sessions.tenant_id", "=", ref.tenant)
    .executeTakeFirst();
  return row === undefined ? null : { ...sessionOf(row), epoch: row.epoch };
}

export function postgresUserNumbers(db: Db): UserNumbers {
  const find = (tenant: string, user: string) =>
    db
      .selectFrom("people")
      .select("number")
      .where("tenant_id", "=", tenant)
      .where("user_id", "=", user)
      .executeTakeFirst();
  return {
    async numberOf(tenant, user) {
      const there = await find(tenant, user);
      if (there !== undefined) return there.number;
      const { number } = await db
        .insertInto("people")
        .values({ tenant_id: existingTenant(tenant), user_id: user })
        // An update that changes nothing, so that the row of a concurrent insert is returned.
        .onConflict((conflict) =>
          conflict.columns(["tenant_id", "user_id"]).doUpdateSet({ user_id: sql`excluded.user_id` }),
        )
        .returning("number")
        .executeTakeFirstOrThrow();
      return number;
    },

    async nameOf(tenant, number) {
      const row = await db
        .selectFrom("people")
        .select("user_id")
        .where("number", "=", checkCount(number, "number"))
        .where("tenant_id", "=", tenant)
        .executeTakeFirst();
      return row?.user_id ?? null;
    },

    async forget(tenant, user) {
      const { numDeletedRows } = await db
        .deleteFrom("people")
        .where("tenant_id", "=", tenant)
        .where("user_id", "=", user)
        .executeTakeFirst();
      return numDeletedRows > 0n;
    },
  };
}
