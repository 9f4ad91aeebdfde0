/**
 * `Keys` is the part of the store for API keys, and `postgresKeys` its implementation.
 *
 * Invariant: the secret of a key is returned once and never stored, only its hash. `verify` never waits for a write and
 * works on a read-only database.
 */
import { sql } from "kysely";
import type { Env } from "../util/env.ts";
import type { Db } from "./database/database.ts";
import { ago, clock } from "./database/session-row.ts";
import {
  generateKey,
  KEY_ID_BYTES,
  KEY_SECRET_BYTES,
  keyIdOf,
  hashesEqual,
  hashKey,
} from "./rules/api-key.ts";
import { checkId, checkTime, checkText, MAX_BATCH } from "./rules/arguments.ts";

export interface NewKey {
  /** A label with which users distinguish their keys. */
  readonly name: string;
  readonly scopes: readonly string[];
  /** Milliseconds since 1970. Without it the key never expires. */
  readonly expiresAt?: number;
}

export interface KeyInfo {
  readonly id: string;
  readonly name: string;
  readonly scopes: readonly string[];
  readonly createdAt: number;
  readonly expiresAt: number | null;
  readonly revokedAt: number | null;
  /** Accurate to one minute. Not updated by a use within a transaction. */
  readonly lastUsedAt: number | null;
}

export interface VerifiedKey {
  readonly id: string;
  readonly tenant: string;
  readonly scopes: readonly string[];
}

/** The part of the store for API keys. Only the hash of a key is stored, so a key can't be shown again. */
export interface Keys {
  /** Creates a key. This is the only time that its secret is returned. */
  create(tenant: string, key: NewKey): Promise<{ readonly key: KeyInfo; readonly secret: string }>;
  /**
   * Returns the tenant and scopes of a key, or null if it is unknown, revoked or expired. Compares in constant time. It
   * also works on a read-only database: `lastUsedAt` is updated separately, if possible.
   */
  verify(secret: string): Promise<VerifiedKey | null>;
  /** Returns those of the keys that are still valid. For connections that were opened with a key and are still open. */
  live(ids: readonly string[]): Promise<Set<string>>;
  /** Returns the tenant of a key, also of one that was revoked or has expired, or null if there is no such key. */
  tenantOf(id: string): Promise<string | null>;
  /** Revokes a key permanently. Returns false if the tenant has no such key or it was revoked before. */
  revoke(tenant: string, id: string): Promise<boolean>;
  /** Returns the newest 1,000 keys, oldest first. */
  list(tenant: string): Promise<KeyInfo[]>;
}

/** Minimum time between two updates of `lastUsedAt`. */
export const LAST_USED_MS = 60_000;

/** @returns the name as it can be stored */
export function checkKey({ name, scopes, expiresAt }: NewKey): string {
  for (const scope of scopes) checkId(scope, "key scope");
  if (expiresAt !== undefined) checkTime(expiresAt, "key expiresAt");
  return checkText(name, "key name");
}

/** The columns of a `KeyInfo`. */
const INFO = [
  "id",
  "name",
  "scopes",
  "created_at as createdAt",
  "expires_at as expiresAt",
  "revoked_at as revokedAt",
  "last_used_at as lastUsedAt",
] as const;

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
      const info = await db
        .insertInto("api_keys")
        .values({
          id,
          tenant_id: tenant,
          name,
          scopes: [...key.scopes],
          secret_hash: hash,
          expires_at: key.expiresAt === undefined ? null : new Date(key.expiresAt),
        })
        .returning(INFO)
        .executeTakeFirstOrThrow();
      return { key: info, secret };
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
        .select(INFO)
        .where("tenant_id", "=", tenant)
        .orderBy("created_at", "desc")
        .orderBy("id", "desc")
        .limit(MAX_BATCH)
        .execute();
      return rows.toReversed();
    },
  };
}
