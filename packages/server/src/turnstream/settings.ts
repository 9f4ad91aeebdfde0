/**
 * `readSettings` decides where the data of `turnstream()` is: on servers or in memory. `SettingsError` names the
 * setting to change. Pure: the environment is passed in.
 * Invariant: an option overrides its environment variable. Half of the servers is an error, because data in memory
 * beside a database would look durable. No message contains a secret or a URL with a password.
 */
import { isRedisUrl } from "../log/redis/connection/address.ts";
import { isDatabaseUrl } from "../store/postgres/database-url.ts";
import { defineErrors } from "../util/errors.ts";

const MEANINGS = {
  DATABASE_URL:
    "Set DATABASE_URL to the address of PostgreSQL, such as postgres://user@host/name, or the option `databaseUrl`.",
  REDIS_URL: "Set REDIS_URL to the address of Redis, such as redis://host:6379, or the option `redisUrl`.",
  SECRET:
    "Set TURNSTREAM_SECRET to at least 32 random bytes, for example with `openssl rand -hex 32`, or the option `secret`.",
  DATABASE: "The address is in DATABASE_URL.",
  REDIS: "The address is in REDIS_URL.",
} as const;

/** A setting of `turnstream()` is missing or wrong. `code` names the setting. */
export class SettingsError extends defineErrors(
  "SettingsError",
  MEANINGS,
  (_code, problem, advice) => `${problem} ${advice}`,
) {}

export interface ServerSettings {
  /** The address of PostgreSQL. @default the environment variable DATABASE_URL */
  readonly databaseUrl?: string;
  /** The address of Redis. @default the environment variable REDIS_URL */
  readonly redisUrl?: string;
  /** Signs the tokens of users: at least 32 random bytes. @default the environment variable TURNSTREAM_SECRET */
  readonly secret?: string;
  /** The PostgreSQL schema of the tables. @default the environment variable TURNSTREAM_SCHEMA, or "turnstream" */
  readonly schema?: string;
}

export interface Settings {
  /** Null if everything is in memory. */
  readonly servers: {
    readonly databaseUrl: string;
    readonly redisUrl: string;
    readonly schema: string | undefined;
  } | null;
  /** Null only in memory: then every process makes its own. */
  readonly secret: string | null;
}

const MIN_SECRET_BYTES = 32;

/** @throws SettingsError */
export function readSettings(
  options: ServerSettings,
  env: Readonly<Record<string, string | undefined>>,
): Settings {
  // An empty variable counts as missing, as in most tools that read .env files.
  const databaseUrl = options.databaseUrl ?? (env["DATABASE_URL"] || undefined);
  const redisUrl = options.redisUrl ?? (env["REDIS_URL"] || undefined);
  const secret = options.secret ?? (env["TURNSTREAM_SECRET"] || undefined);
  if (secret !== undefined && Buffer.byteLength(secret) < MIN_SECRET_BYTES)
    throw new SettingsError("SECRET", `The secret has ${Buffer.byteLength(secret)} bytes.`);
  if (databaseUrl === undefined && redisUrl === undefined) return { servers: null, secret: secret ?? null };
  if (databaseUrl === undefined)
    throw new SettingsError("DATABASE_URL", "There is an address of Redis, but none of PostgreSQL.");
  if (redisUrl === undefined)
    throw new SettingsError("REDIS_URL", "There is an address of PostgreSQL, but none of Redis.");
  if (!isDatabaseUrl(databaseUrl))
    throw new SettingsError("DATABASE_URL", "The address of PostgreSQL is not a URL of PostgreSQL.");
  if (!isRedisUrl(redisUrl))
    throw new SettingsError("REDIS_URL", "The address of Redis is not a URL of Redis.");
  if (secret === undefined) throw new SettingsError("SECRET", "There is no secret for the tokens of users.");
  const schema = options.schema ?? (env["TURNSTREAM_SCHEMA"] || undefined);
  return { servers: { databaseUrl, redisUrl, schema }, secret };
}
