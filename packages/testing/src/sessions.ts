/**
 * `memorySessions`, `memoryEpochs` and `memoryUserNumbers` implement sessions, epochs and user numbers in memory.
 *
 * Invariant: calls with an `Actor` find only that user's sessions. An id can't be used again while its erasure is
 * pending. Epochs only increase.
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
import { unsupported } from "./empty-chapters.ts";
import { reopenRows } from "./archive.ts";
import { queueRow } from "./running-rows.ts";
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
import { createPart, type MemoryTables, type Rows, table } from "./tables.ts";
import { requireTenant, TENANTS } from "./tenants.ts";

export function memorySessions(tables: MemoryTables, env: Env): Sessions {
  return createPart<Sessions>(tables, {
    create: (rows, actor, session) => create(rows, env, actor, session),
    get: (rows, actor, id) => sessionOrNull(owned(rows, actor, id)),
    owners(rows, tenant, ids) {
      checkLimit(ids.length, MAX_BATCH);
      const found = ids.map((session) => sessionRow(rows, { tenant, session }));
      return new Map(found.flatMap((row) => (row === undefined ? [] : [[row.id, row.user]])));
    },
    byNumber(rows, actor, number) {
      const row = rows.of(SESSIONS, actor.tenant).find((candidate) => candidate.number === number);
      return sessionOrNull(row?.user === actor.user ? row : undefined);
    },
    find(rows, ref) {
      const row = sessionRow(rows, ref);
      return row === undefined ? null : withEpoch(row);
    },
    list: (rows, actor, page) => list(rows, actor, page),
    rename(rows, actor, id, title) {
      const change = { title: checkText(title, "title"), updatedAt: env.now() };
      const row = owned(rows, actor, id);
      if (row === undefined) throw new StoreError("NOT_FOUND", `session ${id}`);
      return sessionOf(changeSession(rows, row, change));
    },
    remove(rows, ref) {
      const row = sessionRow(rows, ref);
      if (row !== undefined) eraseSession(rows, ref, env.now());
      return row !== undefined;
    },
    removeUser() {
      throw unsupported("the erasure of users");
    },
    removeExpired(rows, query) {
      const old = expired(rows, query, env.now()).map(refOf);
      for (const ref of old) eraseSession(rows, ref, env.now());
      return old;
    },
    takeErasures(rows, { limit, leaseMs, graceMs }) {
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
    },
    erased(rows, ref, { olderThanMs }) {
      const before = env.now() - checkDuration(olderThanMs, "olderThanMs");
      const key = sessionKey(ref);
      const row = rows.get(ERASURES, "", key);
      if (row === undefined) return false;
      if (row.requestedAt <= before) return rows.remove(ERASURES, "", key);
      rows.put(ERASURES, "", key, { ...row, isLogRemoved: true, claimedUntil: 0 });
      return false;
    },
  });
}

function expired(rows: Rows, query: { olderThanMs: number; limit: number }, now: number): SessionRow[] {
  const before = now - checkDuration(query.olderThanMs, "olderThanMs");
  return rows
    .all(SESSIONS)
    .filter((row) => row.updatedAt < before)
    .toSorted((a, b) => a.updatedAt - b.updatedAt || compareText(a.id, b.id))
    .slice(0, checkLimit(query.limit, MAX_BATCH));
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

const COUNTERS = table<number>("session_counters");

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
  return createPart<Epochs>(tables, {
    next(rows, ref, claim) {
      const seen = checkCount(claim.seen, "seen");
      const session = requireSession(rows, ref);
      const { ifEpoch = session.epoch, ifIdle = false } = claim;
      const isBusy = ifIdle && queueRow(rows, ref).turn !== null;
      if (isBusy || checkCount(ifEpoch, "ifEpoch") !== session.epoch)
        throw new StoreError("CONFLICT", `epoch of session ${ref.session}`);
      const epoch = Math.max(session.epoch, seen) + 1;
      return withEpoch(changeSession(rows, session, { epoch }));
    },
    confirm(rows, ref, lostAfter) {
      reopenRows(rows, ref, env.now(), null);
      const session = sessionRow(rows, ref);
      if (session !== undefined && lostAfter !== undefined)
        changeSession(rows, session, { lostAfter: checkCount(lostAfter, "lostAfter") });
      return session?.epoch ?? null;
    },
  });
}

const USER_NUMBERS = table<{ readonly number: number; readonly user: string }>("people");

export function numberOfUser(rows: Rows, tenant: string, user: string): number {
  requireTenant(rows, tenant);
  const there = rows.get(USER_NUMBERS, tenant, user);
  if (there !== undefined) return there.number;
  const number = rows.next("people");
  rows.put(USER_NUMBERS, tenant, user, { number, user });
  return number;
}

export function memoryUserNumbers(tables: MemoryTables): UserNumbers {
  return createPart<UserNumbers>(tables, {
    numberOf: (rows, tenant, user) => numberOfUser(rows, tenant, user),
    nameOf(rows, tenant, number) {
      checkCount(number, "number");
      return rows.of(USER_NUMBERS, tenant).find((row) => row.number === number)?.user ?? null;
    },
    forget: (rows, tenant, user) => rows.remove(USER_NUMBERS, tenant, user),
  });
}
