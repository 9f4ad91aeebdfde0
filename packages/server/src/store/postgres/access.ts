/** API keys on PostgreSQL. Never reads or writes a secret, only its hash. */
import { type Selectable, sql } from "kysely";
import { hashKey, KEY_ID_BYTES, KEY_SECRET_BYTES, keyIdOf, makeKey, sameHash } from "../rules/api-key.ts";
import type { Env } from "../../util/env.ts";
import { type KeyInfo, type Keys, LAST_USED_MS } from "../ports/access.ts";
import { checkKey } from "../rules/ledger-arguments.ts";
import { MAX_BATCH } from "../ports/sessions.ts";
import type { Db } from "./database.ts";
import type { LedgerTables } from "./schema-ledger.ts";
import { ago, clock } from "./session-row.ts";

const unnoted = sql<boolean>`(last_used_at is null or last_used_at < ${ago(LAST_USED_MS)})`;

export function postgresKeys(db: Db, env: Env): Keys {
  const live = () =>
    db
      .selectFrom("api_keys")
      .where("revoked_at", "is", null)
      .where((eb) => eb.or([eb("expires_at", "is", null), eb("expires_at", ">", ago(0))]));
  const noting = new Set<string>();
  /** Nobody waits for it, and it may fail: who asks is let in all the same, also where nothing can be written. */
  const note = async (id: string) => {
    // In somebody's transaction it would have to be waited for, and failing would take all the rest along.
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
      // The next use is noted instead.
    } finally {
      noting.delete(id);
    }
  };
  return {
    async create(tenant, key) {
      const name = checkKey(key);
      const { id, secret, hash } = makeKey(env.randomBytes(KEY_ID_BYTES + KEY_SECRET_BYTES));
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
      if (row === undefined || !sameHash(row.secret_hash, hashKey(secret))) return null;
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
