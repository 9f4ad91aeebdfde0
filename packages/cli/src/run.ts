/** Finds the command that is meant, runs it, and says what went wrong in words. Never ends the process itself. */
import { isStoreError } from "@turnstream/server";
import { HELP, KEYS_HELP, KNOWLEDGE_HELP } from "./help.ts";
import { keysCreate, keysList, keysRevoke } from "./keys.ts";
import { knowledgeImport } from "./knowledge-import.ts";
import { knowledgeList, knowledgeRemove } from "./knowledge-objects.ts";
import { migrateDatabase } from "./migrate.ts";
import { CommandError, UsageError, type World } from "./world.ts";

type Command = (args: readonly string[], world: World) => Promise<void>;

const COMMANDS: Readonly<Record<string, Command>> = {
  migrate: migrateDatabase,
  "keys create": keysCreate,
  "keys list": keysList,
  "keys revoke": keysRevoke,
  "knowledge import": knowledgeImport,
  "knowledge list": knowledgeList,
  "knowledge remove": knowledgeRemove,
};

/** Commands of two words, and what `--help` says of them. */
const GROUPS: Readonly<Record<string, string>> = { keys: KEYS_HELP, knowledge: KNOWLEDGE_HELP };

const FAILED = 1;
const MISUSED = 2;

/** @returns the exit code */
export async function run(args: readonly string[], world: World): Promise<number> {
  const [first = "", second = ""] = args;
  const name = Object.hasOwn(GROUPS, first) ? `${first} ${second}` : first;
  const isHelp = args.length === 0 || args.includes("--help") || args.includes("-h") || first === "help";
  if (isHelp) {
    const group = args.find((arg) => Object.hasOwn(GROUPS, arg));
    world.out((group === undefined ? undefined : GROUPS[group]) ?? HELP);
    return 0;
  }
  const command = Object.hasOwn(COMMANDS, name) ? COMMANDS[name] : undefined;
  try {
    if (command === undefined) throw new UsageError(`There is no command \`${name.trim()}\`.`);
    await command(args.slice(name.split(" ").length), world);
    return 0;
  } catch (error) {
    world.err(`turnstream: ${wordsFor(error)}\n`);
    if (isMisuse(error)) world.err("Try `turnstream --help`.\n");
    return isMisuse(error) ? MISUSED : FAILED;
  }
}

/** What parseArgs throws for an option that it doesn't know is misuse as well. */
function isMisuse(error: unknown): boolean {
  if (error instanceof UsageError) return true;
  const { code = "" } = (error ?? {}) as { code?: unknown };
  return typeof code === "string" && code.startsWith("ERR_PARSE_ARGS_");
}

/** Words of the store and our own; the driver's may hold what is in DATABASE_URL. */
function wordsFor(error: unknown): string {
  if (isStoreError(error, "INTERNAL"))
    return "The database hasn't the tables of this version. Run `turnstream migrate` first.";
  const isOurs = error instanceof UsageError || error instanceof CommandError || isStoreError(error);
  if (isOurs || isMisuse(error)) return (error as Error).message;
  return `something unforeseen: ${error instanceof Error ? error.name : "unknown"}`;
}
