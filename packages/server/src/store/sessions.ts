/**
 * `Sessions`, `Epochs` and `UserNumbers` are the parts of the store for sessions and their owners, with their
 * implementations. None of them reads the content of a session.
 *
 * Invariant: a method with an `Actor` sees only that user's sessions. No epoch is issued twice, and numbers are never
 * reused: one UPDATE issues an epoch or a number, and its row lock makes it unique. A new session is refused while its
 * id is being erased, checked after the insert. An index has the order of a page; see the plan tests.
 */
import { type Cursor, formatCursor } from "@turnstream/protocol";
import { sql } from "kysely";
import type { Env } from "../util/env.ts";
import type { Actor, SessionRef } from "../util/refs.ts";
import type { Db } from "./database/database.ts";
import {
  clock,
  sessionNotFound,
  sessionRow,
  inTransaction,
  isAfterPage,
  ofSession,
  rowOf,
  bytewiseOrder,
} from "./database/session-row.ts";
import { existingTenant } from "./database/tenant-row.ts";
import {
  type TakeErasuresQuery,
  eraseSessions,
  eraseUser,
  eraseExpired,
  takeErasures,
  finishErasure,
} from "./erasures.ts";
import { StoreError } from "./errors.ts";
import { reopened } from "./outbox.ts";
import {
  checkLimit,
  MAX_BATCH,
  checkText,
  checkId,
  checkSessionId,
  checkCount,
  firstEpoch,
  MAX_PAGE,
} from "./rules/arguments.ts";
import { cutPage } from "./rules/page-token.ts";

export interface Session {
  /** Unique in the tenant. */
  readonly id: string;
  readonly tenant: string;
  readonly user: string;
  /** The session as a number, for clients that use numbers. Unique in the tenant and never reused. */
  readonly number: number;
  readonly title: string | null;
  /** How far the log is archived; "0-0" at first. */
  readonly archived: Cursor;
  readonly forkedFromShare: boolean;
  /** The number of the last turn that the fork copied from its share; 0 if there is none. */
  readonly forkedTurns: number;
  /** The seq after which events were lost, at the last loss; null if none were. See `Epochs.confirm`. */
  readonly lostAfter: number | null;
  readonly createdAt: number;
  /** When a turn last started or ended, or the session was renamed. */
  readonly updatedAt: number;
}

export interface SessionWithEpoch extends Session {
  /** The highest epoch ever issued; see `Epochs`. */
  readonly epoch: number;
}

export interface NewSession {
  readonly id: string;
  readonly title?: string;
  /** Only for a fork: the number of the last turn that it copies from its share, or 0 if the share has no turns. */
  readonly forkedTurns?: number;
  /**
   * The epoch that the first claim gets, from 1 to 2^32 - 1. Random by default, so that a cursor of one session is not
   * valid in another by chance.
   */
  readonly firstEpoch?: number;
}

export interface SessionPage {
  readonly sessions: readonly Session[];
  /** Value for `before` of the next page, or null for the last page. Opaque, and not bound to an actor. */
  readonly next: string | null;
}

/** The part of the store that creates, finds, lists and erases sessions. */
export interface Sessions {
  /**
   * Creates a session. The log must accept its id; see `util/names.ts`.
   * @throws StoreError with EXISTS if the tenant has a session with this id, or is still erasing one, with NOT_FOUND
   *   without the tenant, with INVALID if the log would refuse the id.
   */
  create(actor: Actor, session: NewSession): Promise<SessionWithEpoch>;
  /** Returns a session of this user, or null. */
  get(actor: Actor, id: string): Promise<Session | null>;
  /**
   * Returns the users of 1 to `MAX_BATCH` sessions of a tenant, by session id. A missing session has none. For access
   * checks of many callers at once.
   */
  owners(tenant: string, ids: readonly string[]): Promise<ReadonlyMap<string, string>>;
  /** Like `get`, by number. */
  byNumber(actor: Actor, number: number): Promise<Session | null>;
  /** Returns a session of any user within the tenant, for servers. */
  find(ref: SessionRef): Promise<SessionWithEpoch | null>;
  /**
   * Returns the actor's sessions, the most recently updated first. Following `next` returns each session at most once.
   * It returns every session that existed at the first page and was not updated meanwhile; an update moves a session to
   * the front.
   */
  list(actor: Actor, page: { readonly limit: number; readonly before?: string }): Promise<SessionPage>;
  /** @throws StoreError with NOT_FOUND if the session does not exist. */
  rename(actor: Actor, id: string, title: string): Promise<Session>;
  /**
   * Erases the session everywhere in the store, and records in the same commit that its log must be deleted too.
   * @returns false if it did not exist
   */
  remove(ref: SessionRef): Promise<boolean>;
  /**
   * Erases all sessions of one user, as `remove` does, and the memories about them. In other users'
   * sessions, the user's id is removed from decisions, allowances, uploads, queued messages and running turns.
   * @returns the ids of the erased sessions
   */
  removeUser(tenant: string, user: string): Promise<string[]>;
  /**
   * For retention: erases sessions of any tenant that were not updated for that long, the oldest first. A session that
   * is updated or in use at the same time is skipped until the next call.
   * @returns the erased sessions
   */
  removeExpired(query: { readonly olderThanMs: number; readonly limit: number }): Promise<SessionRef[]>;
  /** Claims erased sessions whose logs must be deleted, the oldest first. Of several processes, one gets each. */
  takeErasures(query: TakeErasuresQuery): Promise<SessionRef[]>;
  /**
   * Deletes the record of an erasure whose log is deleted too, if it was requested at least that long ago by the
   * store's clock. Otherwise it ends the claim, and notes that the log was deleted.
   * @returns false if it is younger, or there is none
   */
  erased(ref: SessionRef, query: { readonly olderThanMs: number }): Promise<boolean>;
}

/** A request for a new epoch. */
export interface EpochClaim {
  /** The highest epoch in which the log was seen, or 0 without a log. */
  readonly seen: number;
  /**
   * Fails with CONFLICT unless this is still the newest epoch. For callers that don't need the session if others are
   * working on it.
   */
  readonly ifEpoch?: number;
  /** Fails with CONFLICT if the session has a turn. For callers without one. */
  readonly ifIdle?: boolean;
}

/** The part of the store for epochs, which decide what may write a session's log. Does not read the log. */
export interface Epochs {
  /**
   * Issues a new epoch, higher than every issued one and than `seen`. No number is issued twice, even to concurrent
   * callers. The caller then claims the log under it: until a claim, nothing is archived.
   * @returns the session with its new epoch. Its archived position doesn't change until the log is claimed under this
   * epoch or a higher one
   * @throws StoreError with NOT_FOUND if the session does not exist.
   */
  next(ref: SessionRef, claim: EpochClaim): Promise<SessionWithEpoch>;
  /**
   * Returns the newest issued epoch, or null if the session does not exist. Call it after the claim of the log: like
   * `outbox.reopen`, it makes rows due again whose entries the log may have lost.
   * @param lostAfter set if the claim found that all events after this seq are lost. The session keeps it
   */
  confirm(ref: SessionRef, lostAfter?: number): Promise<number | null>;
}

/**
 * The part of the store that gives each user a number. Records that can't change (the audit) refer to the number, and the name
 * behind it can be erased. A number is never reused.
 */
export interface UserNumbers {
  /** Returns the same number on every call, until the user is forgotten. */
  numberOf(tenant: string, user: string): Promise<number>;
  /** Returns null if the user was forgotten or never existed. */
  nameOf(tenant: string, number: number): Promise<string | null>;
  /** Deletes the link between the number and the user. Returns false if there was none. */
  forget(tenant: string, user: string): Promise<boolean>;
}

export const SESSION_COLUMNS = [
  "sessions.id",
  "sessions.tenant_id",
  "sessions.user_id",
  "sessions.number",
  "sessions.title",
  "sessions.archived_epoch",
  "sessions.archived_seq",
  "sessions.forked_from_share",
  "sessions.forked_turns",
  "sessions.lost_after",
  "sessions.created_at",
  "sessions.updated_at",
] as const;

type SessionRow = Awaited<ReturnType<ReturnType<typeof ownSessions>["execute"]>>[number];

export function sessionOf(row: SessionRow): Session {
  return {
    id: row.id,
    tenant: row.tenant_id,
    user: row.user_id,
    number: row.number,
    title: row.title,
    archived: formatCursor({ epoch: row.archived_epoch, seq: row.archived_seq }),
    forkedFromShare: row.forked_from_share,
    forkedTurns: row.forked_turns,
    lostAfter: row.lost_after,
    createdAt: row.created_at,
    updatedAt: row.updated_at,
  };
}

export function postgresSessions(db: Db, env: Env): Sessions {
  return {
    create: (actor, session) => create(db, env, actor, session),
    async get(actor, id) {
      const row = await ownSessions(db, actor).where("id", "=", id).executeTakeFirst();
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
      const row = await ownSessions(db, actor).where("number", "=", number).executeTakeFirst();
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
    async remove({ tenant, session }) {
      // Without a session id, `eraseSessions` would erase all sessions of the tenant.
      return (await eraseSessions(db, { tenant, session: checkId(session, "session") })).length > 0;
    },
    removeUser: (tenant, user) => eraseUser(db, tenant, user),
    removeExpired: (query) => eraseExpired(db, query),
    takeErasures: (query) => takeErasures(db, query),
    erased: (ref, query) => finishErasure(db, ref, query),
  };
}

function ownSessions(db: Db, { tenant, user }: Actor) {
  return db
    .selectFrom("sessions")
    .select(SESSION_COLUMNS)
    .where("tenant_id", "=", tenant)
    .where("user_id", "=", user);
}

async function create(db: Db, env: Env, { tenant, user }: Actor, session: NewSession) {
  const values = {
    id: checkSessionId(session.id),
    user_id: user,
    title: session.title === undefined ? null : checkText(session.title, "title"),
    forked_from_share: session.forkedTurns !== undefined,
    forked_turns: session.forkedTurns === undefined ? 0 : checkCount(session.forkedTurns, "forkedTurns"),
  };
  // The first claim gets the next number.
  const epoch = firstEpoch(session.firstEpoch, env) - 1;
  const number = await nextNumber(db, tenant);
  const ref = { tenant, session: values.id };
  return inTransaction(db, async (tx) => {
    const row = await tx
      .with("queue", (qb) => qb.insertInto("turn_queue").values({ ...rowOf(ref), owner: user, epoch }))
      .insertInto("sessions")
      .values({ ...values, tenant_id: existingTenant(tenant), number })
      .returning(SESSION_COLUMNS)
      .executeTakeFirstOrThrow();
    // The old log may still exist, and its deletion would delete the new one. Check after the insert, which waits for a
    // running erasure.
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
  let query = ownSessions(db, actor)
    .orderBy("updated_at", "desc")
    .orderBy(bytewiseOrder("id"), "desc")
    .limit(limit + 1);
  if (page.before !== undefined)
    query = query.where(isAfterPage(page.before, { time: "updated_at", id: "id" }));
  const rows = (await query.execute()).map(sessionOf);
  const { page: sessions, next } = cutPage(rows, limit, ({ updatedAt, id }) => ({ time: updatedAt, id }));
  return { sessions, next };
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
  const row = await sessionRow(db, ref)
    .innerJoin("turn_queue as q", (join) =>
      join.onRef("q.tenant_id", "=", "sessions.tenant_id").onRef("q.session_id", "=", "sessions.id"),
    )
    .select([...SESSION_COLUMNS, "q.epoch"])
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
