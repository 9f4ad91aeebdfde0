/**
 * `memorySessions`, `memoryEpochs` and `memoryUserNumbers` implement sessions, epochs and user numbers in memory.
 *
 * Invariant: calls with an `Actor` find only that user's sessions. An id can't be used again while its erasure is
 * pending. Epochs only increase. Every table with a user id must be cleared in `removeUser`.
 */
import {
  type Actor,
  checkCount,
  checkDuration,
  checkId,
  checkLimit,
  checkSessionId,
  checkText,
  cutPage,
  type Env,
  type Epochs,
  firstEpoch,
  MAX_BATCH,
  MAX_PAGE,
  type NewSession,
  type PageEnd,
  parsePageToken,
  type Session,
  sessionKey,
  type Sessions,
  type SessionWithEpoch,
  StoreError,
  type UserNumbers,
} from "@turnstream/server/internal";
import { START_CURSOR } from "@turnstream/protocol";
import { clearUploadAuthor } from "./files.ts";
import { clearDecisionAuthor } from "./interaction-rows.ts";
import { reopenRows } from "./outbox-rows.ts";
import { clearAllowanceAuthor } from "./interactions.ts";
import { eraseLimitsOfUser } from "./limits.ts";
import { deleteRequestsOfUser } from "./request-rows.ts";
import { clearRunningTurnUser } from "./running.ts";
import { queueRow } from "./running-rows.ts";
import { clearMessageAuthor } from "./waiting-rows.ts";
import {
  changeSession,
  compareText,
  eraseSession,
  ERASURES,
  refOf,
  requireSession,
  sessionRow,
  type SessionRow,
  SESSIONS,
} from "./session-rows.ts";
import { type MemoryTables, type Rows, table } from "./tables.ts";
import { requireTenant, TENANTS } from "./tenants.ts";
import { eraseUsageOfUser } from "./usage.ts";

export function memorySessions(tables: MemoryTables, env: Env): Sessions {
  return {
    create: (actor, session) => tables.run((rows) => create(rows, env, actor, session)),
    get: (actor, id) => tables.run((rows) => sessionOrNull(owned(rows, actor, id))),
    owners: (tenant, ids) =>
      tables.run((rows) => {
        checkLimit(ids.length, MAX_BATCH);
        const found = ids.map((session) => sessionRow(rows, { tenant, session }));
        return new Map(found.flatMap((row) => (row === undefined ? [] : [[row.id, row.user]])));
      }),
    byNumber: (actor, number) =>
      tables.run((rows) => {
        const row = rows.of(SESSIONS, actor.tenant).find((candidate) => candidate.number === number);
        return sessionOrNull(row?.user === actor.user ? row : undefined);
      }),
    find: (ref) =>
      tables.run((rows) => {
        const row = sessionRow(rows, ref);
        return row === undefined ? null : withEpoch(row);
      }),
    list: (actor, page) => tables.run((rows) => list(rows, actor, page)),
    rename: (actor, id, title) =>
      tables.run((rows) => {
        const change = { title: checkText(title, "title"), updatedAt: env.now() };
        const row = owned(rows, actor, id);
        if (row === undefined) throw new StoreError("NOT_FOUND", `session ${id}`);
        return sessionOf(changeSession(rows, row, change));
      }),
    remove: (ref) =>
      tables.run((rows) => {
        const row = sessionRow(rows, ref);
        if (row !== undefined) eraseSession(rows, ref, env.now());
        return row !== undefined;
      }),
    removeUser: (tenant, user) => tables.run((rows) => removeUser(rows, tenant, user, env.now())),
    removeExpired: (query) =>
      tables.run((rows) => {
        const old = expired(rows, query, env.now()).map(refOf);
        for (const ref of old) eraseSession(rows, ref, env.now());
        return old;
      }),
    takeErasures: ({ limit, leaseMs, graceMs }) =>
      tables.run((rows) => {
        const [now, most] = [env.now(), checkLimit(limit, MAX_BATCH)];
        const before = now - checkDuration(graceMs, "graceMs");
        const claimedUntil = now + checkDuration(leaseMs, "leaseMs");
        const due = rows
          .all(ERASURES)
          .filter((row) => row.claimedUntil <= now && (!row.isLogRemoved || row.requestedAt <= before))
          .toSorted((a, b) => a.requestedAt - b.requestedAt || compareText(a.session, b.session))
          .slice(0, most);
        for (const row of due) rows.put(ERASURES, "", sessionKey(row), { ...row, claimedUntil });
        return due.map(({ tenant, session }) => ({ tenant, session }));
      }),
    erased: (ref, { olderThanMs }) =>
      tables.run((rows) => {
        const before = env.now() - checkDuration(olderThanMs, "olderThanMs");
        const key = sessionKey(ref);
        const row = rows.get(ERASURES, "", key);
        if (row === undefined) return false;
        if (row.requestedAt <= before) return rows.remove(ERASURES, "", key);
        rows.put(ERASURES, "", key, { ...row, isLogRemoved: true, claimedUntil: 0 });
        return false;
      }),
  };
}

function expired(rows: Rows, query: { olderThanMs: number; limit: number }, now: number): SessionRow[] {
  const before = now - checkDuration(query.olderThanMs, "olderThanMs");
  return rows
    .all(SESSIONS)
    .filter((row) => row.updatedAt < before)
    .toSorted((a, b) => a.updatedAt - b.updatedAt || compareText(a.id, b.id))
    .slice(0, checkLimit(query.limit, MAX_BATCH));
}

function removeUser(rows: Rows, tenant: string, user: string, now: number): string[] {
  const all = rows.of(SESSIONS, tenant);
  const removed = all.filter((row) => row.user === user);
  for (const row of removed) eraseSession(rows, refOf(row), now);
  for (const ref of all.map(refOf)) {
    clearDecisionAuthor(rows, ref, user);
    clearAllowanceAuthor(rows, ref, user);
    clearMessageAuthor(rows, ref, user);
    clearRunningTurnUser(rows, ref, user);
    clearUploadAuthor(rows, ref, user);
  }
  deleteRequestsOfUser(rows, { tenant, user });
  eraseUsageOfUser(rows, { tenant, user });
  eraseLimitsOfUser(rows, { tenant, user });
  return removed.map((row) => row.id).toSorted();
}

function sessionOf({ header: _, v: _v, checkpoint: _c, epoch: _e, ...session }: SessionRow): Session {
  return session;
}

function withEpoch(row: SessionRow): SessionWithEpoch {
  return { ...sessionOf(row), epoch: row.epoch };
}

function sessionOrNull(row: SessionRow | undefined): Session | null {
  return row === undefined ? null : sessionOf(row);
}

function owned(rows: Rows, actor: Actor, id: string): SessionRow | undefined {
  const row = sessionRow(rows, { tenant: actor.tenant, session: id });
  return row?.user === actor.user ? row : undefined;
}

function create(rows: Rows, env: Env, actor: Actor, session: NewSession): SessionWithEpoch {
  const id = checkSessionId(session.id);
  const title = session.title === undefined ? null : checkText(session.title, "title");
  const epoch = firstEpoch(session.firstEpoch, env) - 1;
  const user = checkId(actor.user, "user id");
  const ref = { tenant: actor.tenant, session: id };
  if (rows.get(ERASURES, "", sessionKey(ref)) !== undefined)
    throw new StoreError("EXISTS", `session ${id} is still being erased`);
  if (sessionRow(rows, ref) !== undefined) throw new StoreError("EXISTS", `session ${id}`);
  if (rows.get(TENANTS, "", actor.tenant) === undefined)
    throw new StoreError("NOT_FOUND", `tenant ${actor.tenant}`);
  const now = env.now();
  const row: SessionRow = {
    id,
    tenant: actor.tenant,
    user,
    number: nextNumber(rows, actor.tenant),
    title,
    epoch,
    archived: START_CURSOR,
    forkedFromShare: session.forkedTurns !== undefined,
    forkedTurns: session.forkedTurns === undefined ? 0 : checkCount(session.forkedTurns, "forkedTurns"),
    lostAfter: null,
    createdAt: now,
    updatedAt: now,
    header: null,
    checkpoint: null,
    v: null,
  };
  rows.put(SESSIONS, actor.tenant, id, row);
  return withEpoch(row);
}

const COUNTERS = table<number>("session_counters", "tenant");

function nextNumber(rows: Rows, tenant: string): number {
  const number = (rows.get(COUNTERS, tenant, "") ?? 0) + 1;
  rows.put(COUNTERS, tenant, "", number);
  return number;
}

function newestFirst(a: PageEnd, b: PageEnd): number {
  return b.time - a.time || compareText(b.id, a.id);
}

function list(rows: Rows, actor: Actor, page: { limit: number; before?: string }) {
  const limit = checkLimit(page.limit, MAX_PAGE);
  const end = page.before === undefined ? null : parsePageToken(page.before);
  const sorted = rows
    .of(SESSIONS, actor.tenant)
    .filter((row) => row.user === actor.user)
    .filter((row) => end === null || newestFirst(end, pageEnd(row)) < 0)
    .toSorted((a, b) => newestFirst(pageEnd(a), pageEnd(b)));
  const { page: found, next } = cutPage(sorted, limit, pageEnd);
  return { sessions: found.map(sessionOf), next };
}

function pageEnd({ updatedAt, id }: Session): PageEnd {
  return { time: updatedAt, id };
}

export function memoryEpochs(tables: MemoryTables, env: Env): Epochs {
  return {
    next: (ref, claim) =>
      tables.run((rows) => {
        const seen = checkCount(claim.seen, "seen");
        const session = requireSession(rows, ref);
        const { ifEpoch = session.epoch, ifIdle = false } = claim;
        const isBusy = ifIdle && queueRow(rows, ref).turn !== null;
        if (isBusy || checkCount(ifEpoch, "ifEpoch") !== session.epoch)
          throw new StoreError("CONFLICT", `epoch of session ${ref.session}`);
        const epoch = Math.max(session.epoch, seen) + 1;
        return withEpoch(changeSession(rows, session, { epoch }));
      }),
    confirm: (ref, lostAfter) =>
      tables.run((rows) => {
        reopenRows(rows, ref, env.now(), null);
        const session = sessionRow(rows, ref);
        if (session !== undefined && lostAfter !== undefined)
          changeSession(rows, session, { lostAfter: checkCount(lostAfter, "lostAfter") });
        return session?.epoch ?? null;
      }),
  };
}

const USER_NUMBERS = table<{ readonly number: number; readonly user: string }>("people", "tenant");

export function numberOfUser(rows: Rows, tenant: string, user: string): number {
  requireTenant(rows, tenant);
  const there = rows.get(USER_NUMBERS, tenant, user);
  if (there !== undefined) return there.number;
  const number = rows.next("people");
  rows.put(USER_NUMBERS, tenant, user, { number, user });
  return number;
}

export function memoryUserNumbers(tables: MemoryTables): UserNumbers {
  return {
    numberOf: (tenant, user) => tables.run((rows) => numberOfUser(rows, tenant, user)),
    nameOf: (tenant, number) =>
      tables.run((rows) => {
        checkCount(number, "number");
        return rows.of(USER_NUMBERS, tenant).find((row) => row.number === number)?.user ?? null;
      }),
    forget: (tenant, user) => tables.run((rows) => rows.remove(USER_NUMBERS, tenant, user)),
  };
}
