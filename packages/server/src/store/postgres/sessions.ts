/** Sessions on PostgreSQL. The order of a page is an index of its own; see the plan tests. */
import { sql } from "kysely";
import { checkCount, checkId, checkLimit, checkText, firstEpoch } from "../check.ts";
import type { Env } from "../env.ts";
import { StoreError } from "../errors.ts";
import { formatPageToken, parsePageToken } from "../page-token.ts";
import type { Actor } from "../refs.ts";
import { MAX_BATCH, MAX_PAGE, type NewSession, type Sessions } from "../sessions.ts";
import type { Db } from "./database.ts";
import { ago, byBytes, clock, noSession, SESSION_COLUMNS, sessionOf } from "./session-row.ts";

export function postgresSessions(db: Db, env: Env): Sessions {
  return {
    create: (actor, session) => create(db, env, actor, session),
    async get(actor, id) {
      const row = await owned(db, actor, id).select(SESSION_COLUMNS).executeTakeFirst();
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
    remove: async (ref) => (await eraseSessions(db, ref)).length > 0,
    removeUser: (tenant, user) => eraseSessions(db, { tenant, user }),
    async expired({ olderThanMs, limit }) {
      const rows = await db
        .selectFrom("sessions")
        .select(["id", "tenant_id"])
        .where("updated_at", "<", ago(checkCount(olderThanMs, "olderThanMs")))
        .orderBy("updated_at")
        .orderBy(byBytes("id"))
        .limit(checkLimit(limit, MAX_BATCH))
        .execute();
      return rows.map((row) => ({ tenant: row.tenant_id, session: row.id }));
    },
    async pendingErasures(limit) {
      const rows = await db
        .selectFrom("erasures")
        .selectAll()
        .orderBy("requested_at")
        .orderBy(byBytes("session_id"))
        .limit(checkLimit(limit, MAX_BATCH))
        .execute();
      return rows.map((row) => ({ session: row.session_id, requestedAt: row.requested_at }));
    },
    async erased(session) {
      await db.deleteFrom("erasures").where("session_id", "=", session).execute();
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
  const id = checkId(session.id, "session id");
  const row = await db
    .insertInto("sessions")
    .columns(["id", "tenant_id", "user_id", "title", "epoch", "forked_from_share"])
    .expression(
      db
        .selectNoFrom([
          sql<string>`${id}`.as("id"),
          sql<string>`${checkId(actor.tenant, "tenant id")}`.as("tenant_id"),
          sql<string>`${checkId(actor.user, "user id")}`.as("user_id"),
          sql<string>`${session.title === undefined ? null : checkText(session.title, "title")}::text`.as(
            "title",
          ),
          // The first claim gets one more.
          sql<number>`${firstEpoch(session.firstEpoch, env) - 1}::bigint`.as("epoch"),
          sql<boolean>`${session.forkedFromShare ?? false}::boolean`.as("forked_from_share"),
        ])
        // Its old log may still be there, and whoever deletes that would delete the new one.
        .where((eb) =>
          eb.not(eb.exists(eb.selectFrom("erasures").select("session_id").where("session_id", "=", id))),
        ),
    )
    .returning(SESSION_COLUMNS)
    .executeTakeFirst();
  if (row === undefined) throw new StoreError("EXISTS", `session ${id} is still being erased`);
  return sessionOf(row);
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

/** Deletes sessions and notes their erasure, in one statement; everything else of theirs goes by cascade. */
export async function eraseSessions(
  db: Db,
  of: { tenant: string; user?: string; session?: string },
): Promise<string[]> {
  let gone = db.deleteFrom("sessions").where("tenant_id", "=", of.tenant).returning("id");
  if (of.user !== undefined) gone = gone.where("user_id", "=", of.user);
  if (of.session !== undefined) gone = gone.where("id", "=", of.session);
  const rows = await db
    .with("gone", () => gone)
    .insertInto("erasures")
    .columns(["session_id"])
    .expression((eb) => eb.selectFrom("gone").select("id"))
    .onConflict((oc) => oc.column("session_id").doUpdateSet({ requested_at: clock }))
    .returning("session_id")
    .execute();
  return rows.map((row) => row.session_id).toSorted();
}
