/** Sessions on PostgreSQL. The order of a page is an index of its own; see the plan tests. */
import { sql } from "kysely";
import { checkDuration, checkId, checkLimit, checkSessionId, checkText, firstEpoch } from "../rules/arguments.ts";
import type { Env } from "../../util/env.ts";
import { StoreError } from "../errors.ts";
import { formatPageToken, parsePageToken } from "../rules/page-token.ts";
import type { Actor } from "../refs.ts";
import { MAX_PAGE, type NewSession, type Sessions } from "../ports/sessions.ts";
import type { Db } from "./database.ts";
import { eraseExpired, eraseSessions, eraseUser, pendingErasures } from "./erase-sessions.ts";
import { ago, byBytes, clock, inTransaction, noSession, SESSION_COLUMNS, sessionOf } from "./session-row.ts";

export function postgresSessions(db: Db, env: Env): Sessions {
  return {
    create: (actor, session) => create(db, env, actor, session),
    async get(actor, id) {
      const row = await owned(db, actor, id).select(SESSION_COLUMNS).executeTakeFirst();
      return row === undefined ? null : sessionOf(row);
    },
    async byNumber(actor, number) {
      const row = await db
        .selectFrom("sessions")
        .select(SESSION_COLUMNS)
        .where("number", "=", number)
        .where("tenant_id", "=", actor.tenant)
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
      if (row === undefined) throw noSession({ tenant: actor.tenant, session: id });
      return sessionOf(row);
    },
    async touch(ref) {
      const { numUpdatedRows } = await db
        .updateTable("sessions")
        .set({ updated_at: clock })
        .where("id", "=", ref.session)
        .where("tenant_id", "=", ref.tenant)
        .executeTakeFirst();
      if (numUpdatedRows === 0n) throw noSession(ref);
    },
    async remove({ tenant, session }) {
      // Without one it would be all of the tenant's.
      const one = { tenant: checkId(tenant, "tenant"), session: checkId(session, "session") };
      return (await eraseSessions(db, one)).length > 0;
    },
    removeUser: (tenant, user) => eraseUser(db, tenant, user),
    removeExpired: (query) => eraseExpired(db, query),
    pendingErasures: (limit, after) => pendingErasures(db, limit, after),
    async erased(session, { olderThanMs }) {
      const { numDeletedRows } = await db
        .deleteFrom("erasures")
        .where("session_id", "=", session)
        .where("requested_at", "<=", ago(checkDuration(olderThanMs, "olderThanMs")))
        .executeTakeFirst();
      return numDeletedRows === 1n;
    },
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
    // The first claim gets one more.
    epoch: firstEpoch(session.firstEpoch, env) - 1,
    forked_from_share: session.forkedFromShare ?? false,
  };
  return inTransaction(db, async (tx) => {
    const row = await tx
      .insertInto("sessions")
      .values(values)
      .returning(SESSION_COLUMNS)
      .executeTakeFirstOrThrow();
    // Its old log may still be there, and whoever deletes that would delete the new one. Looked at behind the insert,
    // which waits for an erasure under way.
    const note = await tx
      .selectFrom("erasures")
      .select("session_id")
      .where("session_id", "=", values.id)
      .executeTakeFirst();
    if (note !== undefined) throw new StoreError("EXISTS", `session ${values.id} is still being erased`);
    return sessionOf(row);
  });
}

async function list(db: Db, actor: Actor, page: { limit: number; before?: string }) {
  const limit = checkLimit(page.limit, MAX_PAGE);
  let query = db
    .selectFrom("sessions")
    .select(SESSION_COLUMNS)
    .where("tenant_id", "=", actor.tenant)
    .where("user_id", "=", actor.user)
    .orderBy("updated_at", "desc")
    .orderBy(byBytes("id"), "desc")
    .limit(limit + 1);
  if (page.before !== undefined) {
    const { updatedAt, id } = parsePageToken(page.before);
    const end = sql`(${new Date(updatedAt)}::timestamptz, ${id})`;
    query = query.where(sql<boolean>`(updated_at, ${byBytes("id")}) < ${end}`);
  }
  const sessions = (await query.execute()).map(sessionOf);
  const more = sessions.length > limit;
  if (more) sessions.pop();
  const last = sessions.at(-1);
  return { sessions, next: more && last !== undefined ? formatPageToken(last) : null };
}
