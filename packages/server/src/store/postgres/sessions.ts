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
  type UserNumbers,
  type Sessions,
} from "../ports/sessions.ts";
import type { Actor } from "../../util/refs.ts";
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
import type { JobQueue } from "./job-queue.ts";
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
  requireSession,
  SESSION_COLUMNS,
  sessionOf,
} from "./session-row.ts";
import { existingTenant } from "./tenant-row.ts";

export function postgresSessions(db: Db, env: Env, queue: JobQueue): Sessions {
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
    async find(ref) {
      const row = await db
        .selectFrom("sessions")
        .select(SESSION_COLUMNS)
        .where("id", "=", ref.session)
        .where("tenant_id", "=", ref.tenant)
        .executeTakeFirst();
      return row === undefined ? null : sessionOf(row);
    },
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
      return (await eraseSessions(db, queue, target)).length > 0;
    },
    removeUser: (tenant, user) => eraseUser(db, queue, tenant, user),
    removeExpired: (query) => eraseExpired(db, queue, query),
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
    // The first claim gets the next number.
    epoch: firstEpoch(session.firstEpoch, env) - 1,
    forked_from_share: session.forkedTurns !== undefined,
    forked_turns: session.forkedTurns === undefined ? 0 : checkCount(session.forkedTurns, "forkedTurns"),
  };
  const number = await nextNumber(db, actor.tenant);
  return inTransaction(db, async (tx) => {
    const row = await tx
      .insertInto("sessions")
      .values({ ...values, tenant_id: existingTenant(values.tenant_id), number })
      .returning(SESSION_COLUMNS)
      .executeTakeFirstOrThrow();
    // The old log may still exist, and its deletion would delete the new one. Check after the insert, which waits for a
    // running erasure.
    const ref = { tenant: actor.tenant, session: values.id };
    const note = await ofSession(tx.selectFrom("erasures"), ref).select("session_id").executeTakeFirst();
    if (note !== undefined) throw new StoreError("EXISTS", `session ${values.id} is still being erased`);
    return sessionOf(row);
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
    async next(ref, claim) {
      const seen = checkCount(claim.seen, "seen");
      const by = checkId(claim.by, "by");
      const reason = checkText(claim.reason, "reason");
      const ifEpoch = claim.ifEpoch === undefined ? null : checkCount(claim.ifEpoch, "ifEpoch");
      const row = await db
        .with("claimed", (qb) => {
          const claimed = qb
            .updateTable("sessions")
            .set({ epoch: sql<number>`greatest(epoch, ${seen}::bigint) + 1` })
            .where("id", "=", ref.session)
            .where("tenant_id", "=", ref.tenant)
            .returning(SESSION_COLUMNS);
          return ifEpoch === null ? claimed : claimed.where("epoch", "=", ifEpoch);
        })
        // Those that `list` can't return any more.
        .with("pruned", (qb) =>
          ofSession(qb.deleteFrom("session_epochs"), ref).where(
            "epoch",
            "<=",
            ofSession(qb.selectFrom("session_epochs as newer"), ref)
              .select("newer.epoch")
              .orderBy("newer.epoch", "desc")
              .offset(MAX_PAGE - 1)
              .limit(1),
          ),
        )
        .with("noted", (qb) =>
          qb
            .insertInto("session_epochs")
            .columns(["tenant_id", "session_id", "epoch", "by", "reason"])
            .expression((eb) =>
              eb
                .selectFrom("claimed")
                .select([
                  "tenant_id",
                  "id",
                  "epoch",
                  sql<string>`${by}::text`.as("by"),
                  sql<string>`${reason}::text`.as("reason"),
                ]),
            ),
        )
        .selectFrom("claimed")
        .selectAll()
        .executeTakeFirst();
      if (row === undefined) {
        await requireSession(db, ref);
        throw new StoreError("CONFLICT", `epoch of session ${ref.session}`);
      }
      return sessionOf(row);
    },
    async confirm(ref, lostAfter) {
      if (lostAfter !== undefined)
        await db
          .updateTable("sessions")
          .set({ lost_after: checkCount(lostAfter, "lostAfter") })
          .where("tenant_id", "=", ref.tenant)
          .where("id", "=", ref.session)
          .execute();
      const row = await db
        .with("reopened", (qb) => reopened(qb, ref))
        .selectFrom("sessions")
        .select("epoch")
        .where("tenant_id", "=", ref.tenant)
        .where("id", "=", ref.session)
        .executeTakeFirst();
      return row?.epoch ?? null;
    },
    list: (ref, limit) =>
      ofSession(db.selectFrom("session_epochs"), ref)
        .select(["epoch", "by", "reason", "at"])
        .orderBy("epoch", "desc")
        .limit(checkLimit(limit, MAX_PAGE))
        .execute(),
  };
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
