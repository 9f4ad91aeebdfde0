/**
 * `readSettings` reads the settings of `turnstream()`, and `resolveSettings` those of the command `turnstream`, with
 * their sources. `requireDatabaseUrl`, `requireRedisUrl` and `requireSecret` refuse missing and wrong ones.
 * `explainServerError` names the server that can't be used. Pure: the environment is passed in.
 * Invariant: library and command report a problem with the same text, and every `SettingsError` names the variable to
 * change. No message contains a secret or a URL with a password.
 */
import { z } from "zod";
import { isLogError } from "../log/errors.ts";
import { addressOf, isRedisUrl } from "../log/redis/connection/address.ts";
import { isStoreError, STORE_ERRORS } from "../store/errors.ts";
import { describeConnectionError, isDatabaseUrl } from "../store/database/database-url.ts";
import { DEFAULT_SCHEMA } from "../store/database/open-database.ts";
import { type AuditKey, type AuditOptions, parseAuditKeys } from "../store/audit.ts";
import { defineErrors } from "../util/errors.ts";
import type { OptionsInput } from "../util/parse-options.ts";

const MEANINGS = {
  DATABASE_URL: "Set DATABASE_URL to the address of PostgreSQL, such as postgres://user@host/name.",
  REDIS_URL: "Set REDIS_URL to the address of Redis, such as redis://host:6379.",
  SECRET:
    "Set TURNSTREAM_SECRET to at least 32 random bytes, for example with `openssl rand -hex 32`. All processes need the same.",
  AUDIT_KEY:
    "Set TURNSTREAM_AUDIT_KEY to at least 32 random bytes, for example with `openssl rand -hex 32`. All processes need the same.",
  DATABASE: "The address is in DATABASE_URL.",
  REDIS: "The address is in REDIS_URL.",
  DEV_PACKAGE:
    "For development, run `npm install --save-dev @turnstream/dev`, which keeps the data in a folder. Otherwise, set both.",
  FOLDER_IN_USE: "Stop it, or choose another folder with `dataFolder` or --data.",
  FOLDER: "Delete it to start again, or choose another folder with `dataFolder` or --data.",
  PORT: "Stop the program that uses it, or choose another port with PORT or --port.",
} as const;

/** A setting is missing or wrong, or its server can't be used. `code` names the setting. */
export class SettingsError extends defineErrors(
  "SettingsError",
  MEANINGS,
  (_code, problem, advice) => `${problem} ${advice}`,
) {}

/** A setting with its environment variable. */
const setting = (variable: string): z.ZodOptional<z.ZodString> => z.string().optional().meta({ variable });

export const settingsShape = {
  /** The address of PostgreSQL. @default the environment variable DATABASE_URL */
  databaseUrl: setting("DATABASE_URL"),
  /** The address of Redis. @default the environment variable REDIS_URL */
  redisUrl: setting("REDIS_URL"),
  /** Signs the tokens of users: at least 32 random bytes. @default the environment variable TURNSTREAM_SECRET */
  secret: setting("TURNSTREAM_SECRET"),
  /**
   * Signs the audit: at least 32 random bytes. To replace it, write the new one before the old one, separated by a comma.
   * @default the environment variable TURNSTREAM_AUDIT_KEY, or none
   */
  auditKey: setting("TURNSTREAM_AUDIT_KEY"),
  /** The PostgreSQL schema of the tables. @default the environment variable TURNSTREAM_SCHEMA, or "turnstream" */
  schema: setting("TURNSTREAM_SCHEMA"),
};

export interface ServerSettings extends OptionsInput<typeof settingsShape> {}

/** A setting and where it comes from. */
interface Setting {
  /** Null if it is not set. */
  readonly value: string | null;
  readonly source: "option" | "environment" | "default" | "not set";
}

export type Settings = { readonly [Name in keyof Required<ServerSettings>]: Setting };

/** The tenant of an app that has only one. */
export const DEFAULT_TENANT = "default";
/** What the gateway accepts. */
const MIN_SECRET_BYTES = 32;

export function resolveSettings(
  options: ServerSettings,
  env: Readonly<Record<string, string | undefined>>,
): Settings {
  const entries = Object.entries(settingsShape).map(([key, declared]) => {
    const name = key as keyof Settings;
    const variable = env[String(declared.meta()?.["variable"])];
    return [name, resolve(options[name], variable, name === "schema" ? DEFAULT_SCHEMA : undefined)];
  });
  return Object.fromEntries(entries) as Settings;
}

/** An empty value counts as not set, because `VARIABLE= command` is how shells clear a variable. */
function resolve(option: string | undefined, variable: string | undefined, fallback?: string): Setting {
  if (option) return { value: option, source: "option" };
  if (variable) return { value: variable, source: "environment" };
  return fallback === undefined ? { value: null, source: "not set" } : { value: fallback, source: "default" };
}

/** @throws SettingsError */
export function requireDatabaseUrl({ databaseUrl: { value } }: Settings): string {
  if (value === null) throw new SettingsError("DATABASE_URL", "DATABASE_URL is not set.");
  if (!isDatabaseUrl(value))
    throw new SettingsError("DATABASE_URL", "DATABASE_URL is not an address of PostgreSQL.");
  return value;
}

/** @throws SettingsError */
export function requireRedisUrl({ redisUrl: { value } }: Settings): string {
  if (value === null) throw new SettingsError("REDIS_URL", "REDIS_URL is not set.");
  if (!isRedisUrl(value)) throw new SettingsError("REDIS_URL", "REDIS_URL is not an address of Redis.");
  return value;
}

/** @throws SettingsError */
export function requireSecret({ secret: { value } }: Settings): string {
  if (value === null) throw new SettingsError("SECRET", "TURNSTREAM_SECRET is not set.");
  const bytes = Buffer.byteLength(value);
  if (bytes < MIN_SECRET_BYTES) throw new SettingsError("SECRET", `TURNSTREAM_SECRET has ${bytes} bytes.`);
  return value;
}

/**
 * Returns the keys that sign and verify the audit, or an empty list if none is set.
 * @throws SettingsError
 */
export function readAuditKeys({ auditKey: { value } }: Settings): readonly AuditKey[] {
  try {
    return parseAuditKeys(value);
  } catch (error) {
    if (!(error instanceof RangeError)) throw error;
    throw new SettingsError("AUDIT_KEY", "A key in TURNSTREAM_AUDIT_KEY is too short.");
  }
}

/**
 * Returns the audit options of a store.
 * @throws SettingsError
 */
export function readAuditOptions(settings: Settings): Pick<AuditOptions, "auditKey"> {
  readAuditKeys(settings);
  const { value } = settings.auditKey;
  return value === null ? {} : { auditKey: value };
}

/** The data is in a folder if neither address is set. */
export function hasServers({ databaseUrl, redisUrl }: Settings): boolean {
  return databaseUrl.value !== null || redisUrl.value !== null;
}

/**
 * Returns the settings of a server. Half of the addresses is an error, because data in a folder beside a database would
 * be missed by other processes.
 * @throws SettingsError
 */
export function readSettings(
  options: ServerSettings,
  env: Readonly<Record<string, string | undefined>>,
): Settings {
  const settings = resolveSettings(options, env);
  if (hasServers(settings)) {
    requireDatabaseUrl(settings);
    requireRedisUrl(settings);
  }
  // A folder keeps its own secret.
  if (hasServers(settings) || settings.secret.value !== null) requireSecret(settings);
  readAuditKeys(settings);
  return settings;
}

/** Returns a SettingsError if a server can't be used or lacks its tables, and any other error unchanged. */
export function explainServerError(error: unknown, { databaseUrl, redisUrl }: Settings): unknown {
  // An error of a statement names a function of the store. Without a cause, it names the feature whose tables are missing.
  if (isStoreError(error, "NOT_MIGRATED"))
    return new SettingsError(
      "DATABASE",
      error.cause === undefined ? error.message : STORE_ERRORS.NOT_MIGRATED,
      error,
    );
  if (isStoreError(error, "UNAVAILABLE", "OUTDATED", "OTHER_BASELINE", "DENIED"))
    return new SettingsError("DATABASE", describeConnectionError(error, databaseUrl.value ?? ""), error);
  if (isLogError(error, "UNAVAILABLE") && isRedisUrl(redisUrl.value)) {
    const address = addressOf(redisUrl.value);
    const problem = `Redis doesn't answer at ${address}. Start it there, or correct the address.`;
    return new SettingsError("REDIS", problem, error);
  }
  return error;
}
