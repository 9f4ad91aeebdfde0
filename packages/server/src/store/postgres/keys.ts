/** API keys on PostgreSQL. Never reads or writes a secret, only its hash. */
import { type Selectable, sql } from "kysely";
import { hashKey, KEY_ID_BYTES, KEY_SECRET_BYTES, keyIdOf, makeKey, sameHash } from "../api-key.ts";
import type { Env } from "../env.ts";
import { type KeyInfo, type Keys, LAST_USED_MS } from "../keys.ts";
import { checkKey } from "../ledger-checks.ts";
import type { Db } from "./database.ts";
import type { LedgerTables } from "./ledger-tables.ts";
import { ago, clock } from "./session-row.ts";

export function postgresKeys(db: Db, env: Env): Keys {
  const live = () =>
    db
      .selectFrom("api_keys")
      .where("revoked_at", "is", null)
      .where((eb) => eb.or([eb("expires_at", "is", null), eb("expires_at", ">", ago(0))]));
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
        .select(sql<boolean>`last_used_at is null or last_used_at < ${ago(LAST_USED_MS)}`.as("unnoted"))
        .executeTakeFirst();
      if (row === undefined || !sameHash(row.secret_hash, hashKey(secret))) return null;
      if (row.unnoted)
        await db.updateTable("api_keys").set({ last_used_at: clock }).where("id", "=", id).execute();
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
        .orderBy("created_at")
        .orderBy("id")
        .execute();
      return rows.map(infoOf);
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
