/** API keys in memory. Like the real thing it has only the hashes. */
import { hashKey, KEY_ID_BYTES, KEY_SECRET_BYTES, keyIdOf, makeKey, sameHash } from "../rules/api-key.ts";
import type { Env } from "../../util/env.ts";
import { type KeyInfo, type Keys, LAST_USED_MS } from "../ports/access.ts";
import { checkKey } from "../rules/ledger-arguments.ts";
import { MAX_BATCH } from "../ports/sessions.ts";
import { requireTenant } from "./ledger-rows.ts";
import { type MemoryTables, type Rows, table } from "./tables.ts";

interface KeyRow {
  readonly tenant: string;
  readonly hash: Uint8Array;
  readonly info: KeyInfo;
}

const KEYS = table<KeyRow>("api_keys", "tenant");

export function memoryKeys(tables: MemoryTables, env: Env): Keys {
  const isLive = ({ info }: KeyRow) =>
    info.revokedAt === null && (info.expiresAt === null || info.expiresAt > env.now());
  return {
    create: (tenant, key) =>
      tables.run((rows) => {
        const name = checkKey(key);
        requireTenant(rows, tenant);
        const { id, secret, hash } = makeKey(env.randomBytes(KEY_ID_BYTES + KEY_SECRET_BYTES));
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
      }),

    verify: (secret) =>
      tables.run((rows) => {
        const id = keyIdOf(secret);
        const row = rows.all(KEYS).find(({ info }) => info.id === id);
        if (row === undefined || !isLive(row) || !sameHash(row.hash, hashKey(secret))) return null;
        const { info, tenant } = row;
        if (info.lastUsedAt === null || info.lastUsedAt < env.now() - LAST_USED_MS) {
          put(rows, { ...row, info: { ...info, lastUsedAt: env.now() } });
        }
        return { id: info.id, tenant, scopes: info.scopes };
      }),

    live: (ids) =>
      tables.run((rows) => {
        const good = rows.all(KEYS).filter((row) => isLive(row) && ids.includes(row.info.id));
        return new Set(good.map(({ info }) => info.id));
      }),

    revoke: (tenant, id) =>
      tables.run((rows) => {
        const row = rows.get(KEYS, tenant, id);
        if (row === undefined || row.info.revokedAt !== null) return false;
        put(rows, { ...row, info: { ...row.info, revokedAt: env.now() } });
        return true;
      }),

    list: (tenant) =>
      tables.run((rows) =>
        rows
          .of(KEYS, tenant)
          .map(({ info }) => info)
          .toSorted((a, b) => a.createdAt - b.createdAt || (a.id < b.id ? -1 : 1))
          .slice(-MAX_BATCH),
      ),
  };
}

function put(rows: Rows, row: KeyRow): void {
  rows.put(KEYS, row.tenant, row.info.id, row);
}
