/**
 * `memoryKeys`, `memoryIdempotency`, `memoryShares` and `memoryTickets` implement the parts for access in memory.
 *
 * Invariant: they behave like those on PostgreSQL. Only the hash of a key is stored. Only the current claim of a
 * request can finish or release it. A ticket stays stored after its expiry for `TICKET_GRACE_MS`.
 */
import {
  type Actor,
  checkAnswer,
  checkDuration,
  checkId,
  checkKey,
  checkLimit,
  checkIdempotentRequest,
  checkTime,
  cutPage,
  type Env,
  formatShareKey,
  generateKey,
  hashesEqual,
  hashKey,
  type Idempotency,
  type IdempotentRequest,
  KEY_ID_BYTES,
  KEY_SECRET_BYTES,
  keyIdOf,
  type KeyInfo,
  type Keys,
  LAST_USED_MS,
  MAX_BATCH,
  MAX_PAGE,
  parsePageToken,
  REQUEST_LEASE_MS,
  type RequestKey,
  resolveIdempotentRequest,
  RESPONSE_RETENTION_MS,
  type Share,
  SHARE_KEY_BYTES,
  type Shares,
  StoreError,
  type Tickets,
} from "@turnstream/server/internal";
import type { Json } from "@turnstream/protocol";
import { putRequest, requestKey, type RequestRow, REQUESTS } from "./request-rows.ts";
import { compareText, requireSession, sessionRow } from "./session-rows.ts";
import { createPart, type MemoryTables, type Rows, sessionTable, table } from "./tables.ts";
import { requireTenant } from "./tenants.ts";

interface KeyRow {
  readonly tenant: string;
  readonly hash: Uint8Array;
  readonly info: KeyInfo;
}

const KEYS = table<KeyRow>("api_keys");

export function memoryKeys(tables: MemoryTables, env: Env): Keys {
  const isLive = ({ info }: KeyRow) =>
    info.revokedAt === null && (info.expiresAt === null || info.expiresAt > env.now());
  return createPart<Keys>(tables, {
    create(rows, tenant, key) {
      const name = checkKey(key);
      requireTenant(rows, tenant);
      const { id, secret, hash } = generateKey(env.randomBytes(KEY_ID_BYTES + KEY_SECRET_BYTES));
      const info: KeyInfo = {
        id,
        name,
        scopes: [...key.scopes],
        createdAt: env.now(),
        expiresAt: key.expiresAt ?? null,
        revokedAt: null,
        lastUsedAt: null,
      };
      put(rows, { tenant, hash, info });
      return { key: info, secret };
    },

    verify(rows, secret) {
      const id = keyIdOf(secret);
      const row = rows.all(KEYS).find(({ info }) => info.id === id);
      if (row === undefined || !isLive(row) || !hashesEqual(row.hash, hashKey(secret))) return null;
      const { info, tenant } = row;
      if (info.lastUsedAt === null || info.lastUsedAt < env.now() - LAST_USED_MS) {
        put(rows, { ...row, info: { ...info, lastUsedAt: env.now() } });
      }
      return { id: info.id, tenant, scopes: info.scopes };
    },

    live(rows, ids) {
      const good = rows.all(KEYS).filter((row) => isLive(row) && ids.includes(row.info.id));
      return new Set(good.map(({ info }) => info.id));
    },

    tenantOf: (rows, id) => rows.all(KEYS).find(({ info }) => info.id === id)?.tenant ?? null,

    revoke(rows, tenant, id) {
      const row = rows.get(KEYS, tenant, id);
      if (row === undefined || row.info.revokedAt !== null) return false;
      put(rows, { ...row, info: { ...row.info, revokedAt: env.now() } });
      return true;
    },

    list: (rows, tenant) =>
      rows
        .of(KEYS, tenant)
        .map(({ info }) => info)
        .toSorted((a, b) => a.createdAt - b.createdAt || (a.id < b.id ? -1 : 1))
        .slice(-MAX_BATCH),
  });
}

function put(rows: Rows, row: KeyRow): void {
  rows.put(KEYS, row.tenant, row.info.id, row);
}

export function memoryIdempotency(tables: MemoryTables, env: Env): Idempotency {
  return createPart<Idempotency>(tables, {
    begin(rows, actor, request) {
      checkIdempotentRequest(request);
      requireTenant(rows, actor.tenant);
      if (request.session !== undefined)
        requireSession(rows, { tenant: actor.tenant, session: request.session });
      const now = env.now();
      const there = rows.get(REQUESTS, actor.tenant, requestKey(actor, request));
      const row = there === undefined || there.startedAt < now - RESPONSE_RETENTION_MS ? undefined : there;
      if (row !== undefined) {
        const body = row.body === null ? null : (JSON.parse(row.body) as Json);
        const isClaimed = row.claim !== null && row.claimedUntil > now;
        const judged = resolveIdempotentRequest({ ...row, body, isClaimed }, request.digest);
        if (judged !== null) return judged;
      }
      const claim = env.id();
      const claimedUntil = now + REQUEST_LEASE_MS;
      const started = { ...(row ?? newRow(actor, request, env.id(), now)), claim, claimedUntil };
      putRequest(rows, started);
      return { state: "yours", claim, id: started.id };
    },
    finish(rows, actor, request, claim, answer) {
      const body = checkAnswer(answer);
      const { status, session } = answer;
      if (session !== undefined) requireSession(rows, { tenant: actor.tenant, session });
      const row = findClaimed(rows, actor, request, claim);
      if (row === undefined) return false;
      putRequest(rows, { ...row, status, body, claim: null, session: session ?? row.session });
      return true;
    },
    release(rows, actor, request, claim) {
      const row = findClaimed(rows, actor, request, claim);
      if (row !== undefined) putRequest(rows, { ...row, claim: null });
    },
    sweep: () => 0,
  });
}

/** Returns the row if it still has this claim. */
function findClaimed(rows: Rows, actor: Actor, request: RequestKey, claim: string): RequestRow | undefined {
  const row = rows.get(REQUESTS, actor.tenant, requestKey(actor, request));
  return row?.claim === claim ? row : undefined;
}

function newRow(actor: Actor, request: IdempotentRequest, id: string, startedAt: number): RequestRow {
  const { tenant, user } = actor;
  const { route, key, digest, session = null } = request;
  const none = { claim: null, claimedUntil: 0, status: null, body: null };
  return { tenant, user, route, key, digest, id, session, startedAt, ...none };
}

interface ShareRow extends Share {
  readonly user: string;
  readonly revokedAt: number | null;
}

const SHARES = sessionTable<ShareRow>("shares");

export function memoryShares(tables: MemoryTables, env: Env): Shares {
  const isOpen = ({ revokedAt, expiresAt }: ShareRow) =>
    revokedAt === null && (expiresAt === null || expiresAt > env.now());
  return createPart<Shares>(tables, {
    create(rows, actor, of, { id = env.id(), expiresInMs } = {}) {
      checkId(id, "share id");
      const createdAt = env.now();
      const expiresAt =
        expiresInMs === undefined ? null : createdAt + checkDuration(expiresInMs, "expiresInMs");
      const session = sessionRow(rows, { tenant: actor.tenant, session: of });
      if (session?.user !== actor.user) throw new StoreError("NOT_FOUND", `session ${of}`);
      if (rows.all(SHARES).some((share) => share.id === id)) throw new StoreError("EXISTS", `share ${id}`);
      const { tenant, user, archived: upTo } = session;
      const key = formatShareKey(env.randomBytes(SHARE_KEY_BYTES));
      const row = { id, tenant, session: of, upTo, createdAt, expiresAt, key, user, revokedAt: null };
      rows.put(SHARES, row, id, row);
      return shareOf(row);
    },
    revoke(rows, actor, id) {
      const row = rows.all(SHARES).find((share) => share.id === id && share.revokedAt === null);
      if (row?.tenant !== actor.tenant || row.user !== actor.user) return false;
      rows.put(SHARES, row, id, { ...row, revokedAt: env.now() });
      return true;
    },
    find(rows, id) {
      const row = rows.all(SHARES).find((share) => share.id === id && isOpen(share));
      return row === undefined ? null : shareOf(row);
    },
    list: (rows, actor, session) =>
      rows
        .of(SHARES, { tenant: actor.tenant, session })
        .filter((row) => row.user === actor.user && isOpen(row))
        .toSorted(oldestFirst)
        .slice(-MAX_BATCH)
        .map(shareOf),
    listOwn(rows, actor, page) {
      const limit = checkLimit(page.limit, MAX_PAGE);
      const end = page.before === undefined ? null : parsePageToken(page.before);
      const open = rows
        .all(SHARES)
        .filter((row) => row.tenant === actor.tenant && row.user === actor.user && isOpen(row))
        .filter((row) => page.session === undefined || row.session === page.session)
        .filter((row) => end === null || oldestFirst(row, { createdAt: end.time, id: end.id }) < 0)
        .toSorted((a, b) => oldestFirst(b, a));
      const { page: found, next } = cutPage(open, limit, ({ createdAt, id }) => ({ time: createdAt, id }));
      const titleOf = (row: ShareRow) => sessionRow(rows, row)?.title ?? null;
      return { shares: found.map((row) => ({ ...shareOf(row), title: titleOf(row) })), next };
    },
    prune(rows, { olderThanMs, limit }) {
      const before = env.now() - checkDuration(olderThanMs, "olderThanMs");
      const closed = rows
        .all(SHARES)
        .filter(({ revokedAt, expiresAt }) => Math.min(revokedAt ?? before, expiresAt ?? before) < before)
        .slice(0, checkLimit(limit, MAX_BATCH));
      for (const row of closed) rows.remove(SHARES, row, row.id);
      return closed.length;
    },
  });
}

function oldestFirst(a: Pick<Share, "createdAt" | "id">, b: Pick<Share, "createdAt" | "id">): number {
  return a.createdAt - b.createdAt || compareText(a.id, b.id);
}

function shareOf({ user: _, revokedAt: _r, ...share }: ShareRow): Share {
  return share;
}

const TICKETS = table<true>("redeemed_tickets");

export function memoryTickets(tables: MemoryTables): Tickets {
  return createPart<Tickets>(tables, {
    redeem(rows, tenant, id, expiresAt) {
      checkTime(expiresAt, "expiresAt");
      requireTenant(rows, tenant);
      if (rows.get(TICKETS, tenant, id) !== undefined) return false;
      rows.put(TICKETS, tenant, id, true);
      return true;
    },
    sweep: () => 0,
  });
}
