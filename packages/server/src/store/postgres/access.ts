/**
 * `postgresKeys`, `postgresIdempotency` and `postgresTickets` implement the sub-ports for access on PostgreSQL.
 *
 * Invariant: the secret of a key is never stored, only its hash. `verify` never waits for a write and works on a
 * read-only database. Of several callers, the one that inserts or first locks the row gets a request; for a ticket, the
 * one that inserts it.
 */
import { type Selectable, sql } from "kysely";
import type { Env } from "../../util/env.ts";
import {
  type BeginResult,
  type Idempotency,
  type KeyInfo,
  type Keys,
  LAST_USED_MS,
  REQUEST_LEASE_MS,
  RESPONSE_RETENTION_MS,
  type IdempotentRequest,
  type RequestKey,
  TICKET_GRACE_MS,
  type Tickets,
} from "../ports/access.ts";
import { MAX_BATCH } from "../ports/sessions.ts";
import type { Actor } from "../../util/refs.ts";
import {
  hashKey,
  KEY_ID_BYTES,
  KEY_SECRET_BYTES,
  keyIdOf,
  generateKey,
  hashesEqual,
} from "../rules/api-key.ts";
import { checkId, checkLimit, checkTime } from "../rules/arguments.ts";
import { checkAnswer, checkIdempotentRequest, resolveIdempotentRequest } from "../rules/idempotency.ts";
import { checkKey } from "../rules/ledger-arguments.ts";
import type { Db } from "./database.ts";
import type { LedgerTables } from "./schema-ledger.ts";
import { ago, clock, clockPlus, lockSessionRow, inTransaction } from "./session-row.ts";
import { existingTenant } from "./tenant-row.ts";
import { defined } from "../../util/defined.ts";

const unnoted = sql<boolean>`(last_used_at is null or last_used_at < ${ago(LAST_USED_MS)})`;

export function postgresKeys(db: Db, env: Env): Keys {
  const live = () =>
    db
      .selectFrom("api_keys")
      .where("revoked_at", "is", null)
      .where((eb) => eb.or([eb("expires_at", "is", null), eb("expires_at", ">", ago(0))]));
  const noting = new Set<string>();
  /** Updates `last_used_at` in the background. It may fail: the key stays valid, also on a read-only database. */
  const note = async (id: string) => {
    // In a transaction the caller would have to wait for it, and a failure would abort the transaction.
    if (db.isTransaction || noting.has(id)) return;
    noting.add(id);
    try {
      await db
        .updateTable("api_keys")
        .set({ last_used_at: clock })
        .where("id", "=", id)
        .where(unnoted)
        .execute();
    } catch {
      // The next use is recorded instead.
    } finally {
      noting.delete(id);
    }
  };
  return {
    async create(tenant, key) {
      const name = checkKey(key);
      const { id, secret, hash } = generateKey(env.randomBytes(KEY_ID_BYTES + KEY_SECRET_BYTES));
      const row = await db
        .insertInto("api_keys")
        .values({
          id,
          tenant_id: tenant,
          name,
          scopes: [...key.scopes],
          secret_hash: hash,
          expires_at: key.expiresAt === undefined ? null : new Date(key.expiresAt),
        })
        .returningAll()
        .executeTakeFirstOrThrow();
      return { key: infoOf(row), secret };
    },

    async verify(secret) {
      const id = keyIdOf(secret);
      if (id === null) return null;
      const row = await live()
        .where("id", "=", id)
        .select(["id", "tenant_id", "scopes", "secret_hash"])
        .select(unnoted.as("unnoted"))
        .executeTakeFirst();
      if (row === undefined || !hashesEqual(row.secret_hash, hashKey(secret))) return null;
      if (row.unnoted) void note(id);
      return { id, tenant: row.tenant_id, scopes: row.scopes };
    },

    async live(ids) {
      if (ids.length === 0) return new Set();
      const rows = await live()
        .where("id", "=", sql<string>`any(${[...ids]}::text[])`)
        .select("id")
        .execute();
      return new Set(rows.map(({ id }) => id));
    },

    async tenantOf(id) {
      const row = await db.selectFrom("api_keys").select("tenant_id").where("id", "=", id).executeTakeFirst();
      return row?.tenant_id ?? null;
    },

    async revoke(tenant, id) {
      const { numUpdatedRows } = await db
        .updateTable("api_keys")
        .set({ revoked_at: clock })
        .where("tenant_id", "=", tenant)
        .where("id", "=", id)
        .where("revoked_at", "is", null)
        .executeTakeFirst();
      return numUpdatedRows > 0n;
    },

    async list(tenant) {
      const rows = await db
        .selectFrom("api_keys")
        .selectAll()
        .where("tenant_id", "=", tenant)
        .orderBy("created_at", "desc")
        .orderBy("id", "desc")
        .limit(MAX_BATCH)
        .execute();
      return rows.toReversed().map(infoOf);
    },
  };
}

function infoOf(row: Selectable<LedgerTables["api_keys"]>): KeyInfo {
  return {
    id: row.id,
    name: row.name,
    scopes: row.scopes,
    createdAt: row.created_at,
    expiresAt: row.expires_at,
    revokedAt: row.revoked_at,
    lastUsedAt: row.last_used_at,
  };
}

/** If several requests begin concurrently, the row of the first one decides. */
export function postgresIdempotency(db: Db, env: Env): Idempotency {
  return {
    begin: (actor, request) => inTransaction(db, (tx) => begin(tx, env, actor, request)),
    finish: (actor, request, claim, answer) =>
      inTransaction(db, async (tx) => {
        const body = checkAnswer(answer);
        const { status, session } = answer;
        if (session !== undefined) await lockSessionRow(tx, { tenant: actor.tenant, session });
        const { numUpdatedRows } = await only(tx.updateTable("idempotency_keys"), actor, request)
          .set({ status, body, claim: null, ...defined({ session_id: session }) })
          .where("claim", "=", claim)
          .executeTakeFirst();
        return numUpdatedRows === 1n;
      }),
    async release(actor, request, claim) {
      await only(db.updateTable("idempotency_keys"), actor, request)
        .set({ claim: null })
        .where("claim", "=", claim)
        .execute();
    },
    async sweep(limit) {
      const most = checkLimit(limit, MAX_BATCH);
      const { numAffectedRows } = await sql`
        delete from idempotency_keys where (tenant_id, user_id, route, key) in (
          select tenant_id, user_id, route, key from idempotency_keys where begun_at < ${ago(RESPONSE_RETENTION_MS)}
          order by begun_at limit ${most} for update skip locked)`.execute(db);
      return Number(numAffectedRows ?? 0n);
    },
  };
}

async function begin(tx: Db, env: Env, actor: Actor, request: IdempotentRequest): Promise<BeginResult> {
  const { route, key } = checkIdempotentRequest(request);
  const digest = checkId(request.digest, "digest");
  const { session = null } = request;
  if (session !== null) await lockSessionRow(tx, { tenant: actor.tenant, session });
  const [claim, id] = [env.id(), env.id()];
  const claimed_until = clockPlus(REQUEST_LEASE_MS);
  const row = { digest, made_id: id, claim, claimed_until, session_id: session };
  const added = await tx
    .insertInto("idempotency_keys")
    .values({ tenant_id: existingTenant(actor.tenant), user_id: actor.user, route, key, ...row })
    .onConflict((conflict) => conflict.doNothing())
    .executeTakeFirst();
  if (added.numInsertedOrUpdatedRows === 1n) return { state: "yours", claim, id };
  const there = await only(tx.selectFrom("idempotency_keys"), actor, request)
    .select(["digest", "status", "body", "made_id"])
    .select(sql<boolean>`claim is not null and claimed_until > ${clock}`.as("isClaimed"))
    .select(sql<boolean>`begun_at < ${ago(RESPONSE_RETENTION_MS)}`.as("isOld"))
    .forUpdate()
    .executeTakeFirst();
  // The row was deleted between the two statements, so another process had it a moment ago.
  if (there === undefined) return { state: "busy" };
  const judged = there.isOld ? null : resolveIdempotentRequest(there, digest);
  if (judged !== null) return judged;
  await only(tx.updateTable("idempotency_keys"), actor, request)
    .set(there.isOld ? { ...row, status: null, body: null, begun_at: clock } : { claim, claimed_until })
    .execute();
  return { state: "yours", claim, id: there.isOld ? id : there.made_id };
}

export async function deleteRequestsOfUser(db: Db, { tenant, user }: Actor): Promise<void> {
  await db
    .deleteFrom("idempotency_keys")
    .where("tenant_id", "=", tenant)
    .where("user_id", "=", user)
    .execute();
}

interface Narrowed<Self> {
  where(column: "tenant_id" | "user_id" | "route" | "key", op: "=", value: string): Self;
}

/** Restricts a query to the row of one request. */
function only<Query extends Narrowed<Query>>(
  query: Query,
  { tenant, user }: Actor,
  { route, key }: RequestKey,
): Query {
  return query
    .where("tenant_id", "=", tenant)
    .where("user_id", "=", user)
    .where("route", "=", route)
    .where("key", "=", key);
}

export function postgresTickets(db: Db): Tickets {
  return {
    async redeem(tenant, id, expiresAt) {
      const expires_at = new Date(checkTime(expiresAt, "expiresAt"));
      const { numInsertedOrUpdatedRows } = await db
        .insertInto("redeemed_tickets")
        .values({ tenant_id: existingTenant(tenant), id, expires_at })
        .onConflict((conflict) => conflict.doNothing())
        .executeTakeFirst();
      return numInsertedOrUpdatedRows === 1n;
    },
    async sweep(limit) {
      const most = checkLimit(limit, MAX_BATCH);
      const { numAffectedRows } = await sql`
        delete from redeemed_tickets where (tenant_id, id) in (
          select tenant_id, id from redeemed_tickets where expires_at < ${ago(TICKET_GRACE_MS)}
          order by expires_at limit ${most} for update skip locked)`.execute(db);
      return Number(numAffectedRows ?? 0n);
    },
  };
}
