/**
 * `addConfig` adds `turnstream config`: it prints the effective settings and where each comes
 * from. `describeSettings` hides what is secret.
 * Invariant: it connects to nothing, and prints no password and no secret.
 */
import { isDatabaseUrl } from "@turnstream/server";
import { type Settings, isRedisUrl } from "@turnstream/server/internal";
import type { Command } from "commander";
import type { CliContext } from "../cli-context.ts";
import { action, type CommandCall, examples } from "../command-call.ts";
import { formatTable } from "../styles.ts";

export function addConfig(program: Command, context: CliContext): void {
  program
    .command("config")
    .description("print the effective settings and their sources, without secrets")
    .option("--print", "print the settings; this is the default")
    .addHelpText("after", examples(["turnstream config --print", "turnstream config --print --json"]))
    .action(action(context, printConfig));
}

async function printConfig(call: CommandCall): Promise<void> {
  const settings = describeSettings(call.settings);
  const rows = settings.map(({ name, value, source }) => [name, value === "" ? "-" : value, source]);
  call.print(settings, formatTable(["setting", "value", "source"], rows, call.context.columns));
}

interface SettingDescription {
  readonly name: string;
  readonly value: string;
  readonly source: string;
}

/** Returns the settings as they can be shown. */
export function describeSettings({
  databaseUrl,
  redisUrl,
  schema,
  secret,
  auditKey,
}: Settings): SettingDescription[] {
  return [
    {
      name: "DATABASE_URL",
      source: databaseUrl.source,
      value: describeUrl(databaseUrl.value, isDatabaseUrl),
    },
    { name: "REDIS_URL", source: redisUrl.source, value: describeUrl(redisUrl.value, isRedisUrl) },
    { name: "TURNSTREAM_SCHEMA", source: schema.source, value: schema.value ?? "" },
    { name: "TURNSTREAM_SECRET", source: secret.source, value: describeSecret(secret.value) },
    { name: "TURNSTREAM_AUDIT_KEY", source: auditKey.source, value: describeSecret(auditKey.value) },
  ];
}

function describeSecret(value: string | null): string {
  return value === null ? "" : `(hidden, ${Buffer.byteLength(value)} bytes)`;
}

/** Shows neither the password nor the query, which can contain one too. */
function describeUrl(url: string | null, isValid: (url: unknown) => boolean): string {
  if (url === null) return "";
  if (!isValid(url) || !URL.canParse(url)) return "(hidden: this is not an address that can be shown)";
  const { protocol, username, password, host, pathname, search } = new URL(url);
  const user = username === "" && password === "" ? "" : `${username}${password === "" ? "" : ":***"}@`;
  return `${protocol}//${user}${host}${pathname}${search === "" ? "" : "?…"}`;
}
