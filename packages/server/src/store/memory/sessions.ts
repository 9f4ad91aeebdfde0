/** Sessions in memory. */
import { START_CURSOR } from "@turnstream/protocol";
import { checkCount, checkId, checkLimit, checkText, firstEpoch } from "../check.ts";
import type { Env } from "../env.ts";
import { StoreError } from "../errors.ts";
import { formatPageToken, type PageEnd, parsePageToken } from "../page-token.ts";
import type { Actor } from "../refs.ts";
import { MAX_BATCH, MAX_PAGE, type NewSession, type Session, type Sessions } from "../sessions.ts";
import {
  changeSession,
  compareText,
  eraseSession,
  ERASURES,
  requireSession,
  sessionRow,
  SESSIONS,
  type SessionRow,
} from "./session-rows.ts";
import type { MemoryTables, Rows } from "./tables.ts";
import { TENANTS } from "./tenants.ts";

export function memorySessions(tables: MemoryTables, env: Env): Sessions {
  return {
    create: (actor, session) => tables.run((rows) => create(rows, env, actor, session)),
    get: (actor, id) => tables.run((rows) => sessionOrNull(owned(rows, actor, id))),
    find: (ref) => tables.run((rows) => sessionOrNull(sessionRow(rows, ref))),
    list: (actor, page) => tables.run((rows) => list(rows, actor, page)),
    rename: (actor, id, title) =>
      tables.run((rows) => {
        const change = { title: checkText(title, "title"), updatedAt: env.now() };
        const row = owned(rows, actor, id);
        if (row === undefined) throw new StoreError("NOT_FOUND", `session ${id}`);
        return sessionOf(changeSession(rows, row, change));
      }),
    touch: (ref) =>
      tables.run((rows) => {
        changeSession(rows, requireSession(rows, ref), { updatedAt: env.now() });
      }),
    remove: (ref) =>
      tables.run((rows) => {
        const row = sessionRow(rows, ref);
        if (row !== undefined) eraseSession(rows, row.id, env.now());
        return row !== undefined;
      }),
    removeUser: (tenant, user) =>
      tables.run((rows) => {
        const gone = rows.all(SESSIONS).filter((row) => row.tenant === tenant && row.user === user);
        for (const row of gone) eraseSession(rows, row.id, env.now());
        return gone.map((row) => row.id).toSorted();
      }),
    expired: ({ olderThanMs, limit }) =>
      tables.run((rows) => {
        const before = env.now() - checkCount(olderThanMs, "olderThanMs");
        return rows
          .all(SESSIONS)
          .filter((row) => row.updatedAt < before)
          .toSorted((a, b) => a.updatedAt - b.updatedAt || compareText(a.id, b.id))
          .slice(0, checkLimit(limit, MAX_BATCH))
          .map((row) => ({ tenant: row.tenant, session: row.id }));
      }),
    pendingErasures: (limit) =>
      tables.run((rows) =>
        rows
          .all(ERASURES)
          .toSorted((a, b) => a.requestedAt - b.requestedAt || compareText(a.session, b.session))
          .slice(0, checkLimit(limit, MAX_BATCH)),
      ),
    erased: (session) =>
      tables.run((rows) => {
        rows.remove(ERASURES, "", session);
      }),
  };
}

function sessionOf({ header: _, v: _v, ...session }: SessionRow): Session {
  return session;
}

function sessionOrNull(row: SessionRow | undefined): Session | null {
  return row === undefined ? null : sessionOf(row);
}

function owned(rows: Rows, actor: Actor, id: string): SessionRow | undefined {
  const row = sessionRow(rows, { tenant: actor.tenant, session: id });
  return row?.user === actor.user ? row : undefined;
}

function create(rows: Rows, env: Env, actor: Actor, session: NewSession): Session {
  const id = checkId(session.id, "session id");
  const title = session.title === undefined ? null : checkText(session.title, "title");
  const epoch = firstEpoch(session.firstEpoch, env) - 1;
  const user = checkId(actor.user, "user id");
  if (rows.get(ERASURES, "", id) !== undefined)
    throw new StoreError("EXISTS", `session ${id} is still being erased`);
  if (rows.get(SESSIONS, "", id) !== undefined) throw new StoreError("EXISTS", `session ${id}`);
  if (rows.get(TENANTS, "", actor.tenant) === undefined)
    throw new StoreError("NOT_FOUND", `tenant ${actor.tenant}`);
  const now = env.now();
  const row: SessionRow = {
    id,
    tenant: actor.tenant,
    user,
    number: rows.next("session number"),
    title,
    epoch,
    archived: START_CURSOR,
    forkedFromShare: session.forkedFromShare ?? false,
    createdAt: now,
    updatedAt: now,
    header: null,
    v: null,
  };
  rows.put(SESSIONS, "", id, row);
  return sessionOf(row);
}

function newestFirst(a: PageEnd, b: PageEnd): number {
  return b.updatedAt - a.updatedAt || compareText(b.id, a.id);
}

function list(rows: Rows, actor: Actor, page: { limit: number; before?: string }) {
  const limit = checkLimit(page.limit, MAX_PAGE);
  const end = page.before === undefined ? null : parsePageToken(page.before);
  const sorted = rows
    .all(SESSIONS)
    .filter((row) => row.tenant === actor.tenant && row.user === actor.user)
    .filter((row) => end === null || newestFirst(end, row) < 0)
    .toSorted(newestFirst);
  const sessions = sorted.slice(0, limit).map(sessionOf);
  const last = sessions.at(-1);
  return { sessions, next: sorted.length > limit && last !== undefined ? formatPageToken(last) : null };
}
