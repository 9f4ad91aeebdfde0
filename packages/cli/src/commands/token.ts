/**
 * `addToken` adds `turnstream token`: it signs a token of a user with TURNSTREAM_SECRET, for a first request or a test.
 * Invariant: it creates nothing. Only the token is written to stdout, so that a script can capture it. The secret is
 * never printed.
 */
import { DEFAULT_GATEWAY_LIMITS, signToken } from "@turnstream/server";
import { DEFAULT_TENANT, requireSecret, TOKEN_SCOPES } from "@turnstream/server/internal";
import type { Command } from "commander";
import { UsageError, type CliContext } from "../cli-context.ts";
import { action, type CommandCall, examples } from "../command-call.ts";
import { withStore } from "../open-backend.ts";

interface TokenOptions {
  readonly user: string;
  readonly tenant: string;
  readonly ttl: string;
  readonly scopes: string;
}

const DEFAULT_SCOPES = "read,write,decide,share";

export function addToken(program: Command, context: CliContext): void {
  program
    .command("token")
    .description("print a token of a user, signed with TURNSTREAM_SECRET")
    .requiredOption("--user <id>", "the user")
    .option("--tenant <id>", "the tenant", DEFAULT_TENANT)
    .option("--ttl <duration>", "how long it is valid: 90s, 15m, 12h or 7d", "1h")
    .option("--scopes <list>", `permissions, comma-separated: ${TOKEN_SCOPES.join(", ")}`, DEFAULT_SCOPES)
    .addHelpText(
      "after",
      examples([
        "TOKEN=$(turnstream token --user linh)",
        "turnstream token --user linh --tenant acme --ttl 15m --scopes read",
      ]),
    )
    .action(action(context, printToken));
}

async function printToken(
  call: CommandCall,
  { user, tenant, ttl, scopes: list }: TokenOptions,
): Promise<void> {
  const ttlMs = parseDuration(ttl);
  const scopes = list.split(",").map((scope) => scope.trim());
  const known = [...TOKEN_SCOPES, ...(await listFeatures(call))];
  const unknown = scopes.find((scope) => !known.includes(scope));
  if (unknown !== undefined)
    throw new UsageError(`Unknown scope ${unknown}. A token may have: ${known.join(", ")}.`);
  const secret = requireSecret(call.settings);
  const now = call.context.now();
  const expiresAt = now + ttlMs;
  const token = await signToken({ tenant, user, key: null, scopes, expiresAt }, secret, now);
  const tenantExists = await findTenant(call, tenant);
  call.print({ token, tenant, user, scopes, expires_at: expiresAt, tenant_exists: tenantExists }, [token]);
  if (ttlMs > DEFAULT_GATEWAY_LIMITS.maxTokenTtlMs)
    call.notice("By default a gateway refuses tokens of more than 7 days. Raise its limits.maxTokenTtlMs.");
  if (tenantExists === null) call.notice("DATABASE_URL is not set, so the tenant was not checked.");
  if (tenantExists === false)
    call.notice(`There is no tenant ${tenant}. Requests with this token fail until it exists.`);
}

/** A feature can have a scope of its name. Without a database, none is known. */
async function listFeatures({ settings }: CommandCall): Promise<readonly string[]> {
  if (settings.databaseUrl.value === null) return [];
  return await withStore(settings, (store) => store.features.requireTables([]));
}

/** Returns null if there is no database to ask. */
async function findTenant({ settings }: CommandCall, tenant: string): Promise<boolean | null> {
  if (settings.databaseUrl.value === null) return null;
  return await withStore(settings, async (store) => (await store.tenants.get(tenant)) !== null);
}

const UNITS: Readonly<Record<string, number>> = { s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 };
const MAX_TTL_MS = 365 * 86_400_000;

function parseDuration(text: string): number {
  const [, count = "", unit = ""] = /^(\d{1,6})([smhd])$/.exec(text) ?? [];
  const ms = Number(count) * (UNITS[unit] ?? 0);
  if (ms < 1 || ms > MAX_TTL_MS)
    throw new UsageError(`--ttl must be a duration up to 365d, such as 90s, 15m, 12h or 7d, got ${text}.`);
  return ms;
}
