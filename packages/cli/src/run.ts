/**
 * `run` finds and runs a command and prints its errors. It returns the exit code and does not end the process.
 * Invariant: it prints only messages of the store, the engine and this package. A message of the database driver could
 * contain the password from DATABASE_URL. The exit code is 0, 1 for a failure, or 2 for invalid arguments.
 */
import { readFileSync } from "node:fs";
import { describeConnectionError } from "@turnstream/server";
import { isEngineError, isStoreError, STORE_ERRORS } from "@turnstream/server/ports";
import { HELP, KEYS_HELP, KNOWLEDGE_HELP, PAYMENTS_HELP, WEBHOOKS_HELP } from "./help.ts";
import { keysCreate, keysList, keysRevoke } from "./keys.ts";
import { knowledgeImport } from "./knowledge-import.ts";
import { knowledgeList, knowledgeRemove } from "./knowledge-objects.ts";
import { migrateDatabase } from "./migrate.ts";
import { paymentsList, paymentsResolve, paymentsShow } from "./payments.ts";
import {
  webhooksCreate,
  webhooksDelete,
  webhooksDeliveries,
  webhooksList,
  webhooksReplay,
} from "./webhooks.ts";
import { databaseUrl } from "./with-store.ts";
import { CommandError, UsageError, type CliContext } from "./cli-context.ts";

type Command = (args: readonly string[], context: CliContext) => Promise<void>;

const COMMANDS: Readonly<Record<string, Command>> = {
  migrate: migrateDatabase,
  "keys create": keysCreate,
  "keys list": keysList,
  "keys revoke": keysRevoke,
  "knowledge import": knowledgeImport,
  "knowledge list": knowledgeList,
  "knowledge remove": knowledgeRemove,
  "payments list": paymentsList,
  "payments show": paymentsShow,
  "payments resolve": paymentsResolve,
  "webhooks create": webhooksCreate,
  "webhooks list": webhooksList,
  "webhooks delete": webhooksDelete,
  "webhooks deliveries": webhooksDeliveries,
  "webhooks replay": webhooksReplay,
};

/** Command groups with their help texts: `turnstream keys create` is `create` of the group `keys`. */
const GROUPS: Readonly<Record<string, string>> = {
  keys: KEYS_HELP,
  knowledge: KNOWLEDGE_HELP,
  payments: PAYMENTS_HELP,
  webhooks: WEBHOOKS_HELP,
};

const FAILED = 1;
const MISUSED = 2;

/** @returns the exit code */
export async function run(args: readonly string[], context: CliContext): Promise<number> {
  const [first = "", second = ""] = args;
  const group = Object.hasOwn(GROUPS, first) ? GROUPS[first] : undefined;
  if (first === "--version") {
    context.out(`${version()}\n`);
    return 0;
  }
  const isHelp = args.length === 0 || args.includes("--help") || args.includes("-h") || first === "help";
  if (isHelp) {
    const asked = args.find((arg) => Object.hasOwn(GROUPS, arg));
    context.out((asked === undefined ? undefined : GROUPS[asked]) ?? HELP);
    return 0;
  }
  if (group !== undefined && second === "") {
    context.err(group);
    return MISUSED;
  }
  const name = group === undefined ? first : `${first} ${second}`;
  const command = Object.hasOwn(COMMANDS, name) ? COMMANDS[name] : undefined;
  try {
    if (command === undefined) throw new UsageError(`Unknown command \`${name}\`.`);
    await command(args.slice(name.split(" ").length), context);
    return 0;
  } catch (error) {
    context.err(`turnstream: ${describeError(error, context)}\n`);
    if (!isMisuse(error)) return FAILED;
    context.err(`Try \`turnstream ${group === undefined ? "" : `${first} `}--help\`.\n`);
    return MISUSED;
  }
}

function version(): string {
  const text = readFileSync(new URL("../package.json", import.meta.url), "utf8");
  return (JSON.parse(text) as { version: string }).version;
}

/** `parseArgs` throws its own errors for unknown options; they count as misuse too. */
function isMisuse(error: unknown): boolean {
  if (error instanceof UsageError) return true;
  const { code = "" } = (error ?? {}) as { code?: unknown };
  return typeof code === "string" && code.startsWith("ERR_PARSE_ARGS_");
}

/**
 * Prints only messages of the store, the engine and this package. A message of the database driver could contain the
 * password from DATABASE_URL.
 */
function describeError(error: unknown, context: CliContext): string {
  if (isStoreError(error, "NOT_MIGRATED")) return STORE_ERRORS.NOT_MIGRATED;
  if (isStoreError(error)) return describeConnectionError(error, databaseUrl(context));
  const isOurs = error instanceof UsageError || error instanceof CommandError || isEngineError(error);
  if (isOurs || isMisuse(error)) return (error as Error).message;
  return `unexpected error: ${error instanceof Error ? error.name : "unknown"}`;
}
