/**
 * `resolveSettings` decides which servers, schema and secret a command uses, and where each value comes from. An option
 * overrides its environment variable, which overrides the default. Pure.
 * Invariant: errors of this file contain no password and no secret.
 */
import { isDatabaseUrl } from "@turnstream/server";
import { isRedisUrl } from "@turnstream/server/ports";
import { CommandError, type CliContext } from "./cli-context.ts";

/** The options that every command accepts. */
export interface GlobalOptions {
  readonly json?: boolean;
  readonly databaseUrl?: string;
  readonly redisUrl?: string;
  readonly schema?: string;
}

type SettingSource = "option" | "environment" | "default" | "not set";

interface Setting {
  readonly value: string | null;
  readonly source: SettingSource;
}

export interface Settings {
  readonly databaseUrl: Setting;
  readonly redisUrl: Setting;
  readonly schema: Setting;
  readonly secret: Setting;
}

const DEFAULT_SCHEMA = "turnstream";
/** The tenant of an app that has only one. */
export const DEFAULT_TENANT = "default";
/** What the gateway accepts. */
const MIN_SECRET_BYTES = 32;

export function resolveSettings(options: GlobalOptions, env: CliContext["env"]): Settings {
  return {
    databaseUrl: resolve(options.databaseUrl, env["DATABASE_URL"], null),
    redisUrl: resolve(options.redisUrl, env["REDIS_URL"], null),
    schema: resolve(options.schema, env["TURNSTREAM_SCHEMA"], DEFAULT_SCHEMA),
    secret: resolve(undefined, env["TURNSTREAM_SECRET"], null),
  };
}

/** An empty value counts as not set, because `VARIABLE= command` is how shells clear a variable. */
function resolve(option: string | undefined, variable: string | undefined, fallback: string | null): Setting {
  if (option !== undefined && option !== "") return { value: option, source: "option" };
  if (variable !== undefined && variable !== "") return { value: variable, source: "environment" };
  return { value: fallback, source: fallback === null ? "not set" : "default" };
}

export function requireDatabaseUrl({ databaseUrl: { value } }: Settings): string {
  if (value === null)
    throw new CommandError(
      "DATABASE_URL is not set. It must be the address of the database, such as postgres://user@host/name.",
    );
  // The message must not contain the value, because it can include a password.
  if (!isDatabaseUrl(value))
    throw new CommandError("DATABASE_URL must be a PostgreSQL address such as postgres://user@host/name.");
  return value;
}

export function requireRedisUrl({ redisUrl: { value } }: Settings): string {
  if (value === null)
    throw new CommandError(
      "REDIS_URL is not set. It must be the address of Redis, such as redis://host:6379.",
    );
  if (!isRedisUrl(value))
    throw new CommandError("REDIS_URL must be the address of Redis, such as redis://host:6379.");
  return value;
}

export function requireSecret({ secret: { value } }: Settings): string {
  if (value === null)
    throw new CommandError("TURNSTREAM_SECRET is not set. It must be the secret of the gateway.");
  if (Buffer.byteLength(value) < MIN_SECRET_BYTES)
    throw new CommandError(
      `TURNSTREAM_SECRET must have at least ${MIN_SECRET_BYTES} bytes, got ${Buffer.byteLength(value)}.`,
    );
  return value;
}
