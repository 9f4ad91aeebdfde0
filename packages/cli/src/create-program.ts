/**
 * `createProgram` declares the command `turnstream` with all its commands. A further command is one function in
 * `COMMANDS` that adds itself to the program.
 * Invariant: help and errors are written through the context, and nothing ends the process. Every command accepts the
 * global options, and the help of every command has examples.
 */
import { readFileSync } from "node:fs";
import { Command } from "commander";
import type { CliContext } from "./cli-context.ts";
import { examples } from "./command-call.ts";
import { addAudit } from "./commands/audit.ts";
import { addConfig } from "./commands/config.ts";
import { addDev } from "./commands/dev.ts";
import { addDoctor } from "./commands/doctor.ts";
import { addKeys } from "./commands/keys.ts";
import { addKnowledge } from "./commands/knowledge.ts";
import { addLimits, addUsage } from "./commands/limits.ts";
import { addMigrate } from "./commands/migrate.ts";
import { addOpenApi } from "./commands/openapi.ts";
import { addPayments } from "./commands/payments.ts";
import { addServe, addWorker } from "./commands/serve.ts";
import { addTail } from "./commands/tail.ts";
import { addToken } from "./commands/token.ts";
import { addTurns } from "./commands/turns.ts";
import { addWebhooks } from "./commands/webhooks.ts";
import { createStyles } from "./styles.ts";

type AddCommand = (program: Command, context: CliContext) => void;

const RUN = "Run agents:";
const SET_UP = "Set up:";
const DEBUG = "Find out what happens:";
const MANAGE = "Manage data of a tenant:";

/** Below Commander's own 40 columns, so that descriptions are wrapped in a terminal of 60. */
const MIN_WRAP_WIDTH = 20;

/** In the order of the help. */
const COMMANDS: readonly (readonly [group: string, add: AddCommand])[] = [
  [RUN, addDev],
  [RUN, addServe],
  [RUN, addWorker],
  [SET_UP, addMigrate],
  [SET_UP, addDoctor],
  [SET_UP, addConfig],
  [SET_UP, addOpenApi],
  [DEBUG, addTurns],
  [DEBUG, addTail],
  [MANAGE, addToken],
  [MANAGE, addKeys],
  [MANAGE, addKnowledge],
  [MANAGE, addPayments],
  [MANAGE, addWebhooks],
  [MANAGE, addAudit],
  [MANAGE, addLimits],
  [MANAGE, addUsage],
];

export function createProgram(context: CliContext): Command {
  const { bold } = createStyles(context.hasColors);
  const width = context.columns ?? 100;
  const program = new Command("turnstream")
    .description("Runs and inspects Turnstream servers.")
    .version(readVersion(), "--version", "print the version")
    .helpOption("-h, --help", "print the help of a command")
    .helpCommand(false)
    .option("--json", "write only JSON to stdout")
    .option(
      "--database-url <url>",
      "PostgreSQL. Default: DATABASE_URL. Other users of this machine can see it",
    )
    .option("--redis-url <url>", "Redis. Default: REDIS_URL")
    .option("--schema <name>", "PostgreSQL schema of the tables. Default: TURNSTREAM_SCHEMA, or turnstream")
    .exitOverride()
    .configureOutput({
      writeOut: (text) => context.out(text),
      writeErr: (text) => context.err(text),
      outputError: (text, write) => write(text.replace(/^error: /, "turnstream: ")),
      getOutHelpWidth: () => width,
      getErrHelpWidth: () => width,
      getOutHasColors: () => context.hasColors,
      getErrHasColors: () => context.hasColors,
    })
    .configureHelp({ showGlobalOptions: true, styleTitle: bold, minWidthToWrap: MIN_WRAP_WIDTH })
    .addHelpText("after", examples(EXAMPLES));
  for (const [group, add] of COMMANDS) {
    program.commandsGroup(group);
    add(program, context);
  }
  return program;
}

const EXAMPLES = [
  "turnstream dev",
  "turnstream migrate",
  "turnstream doctor",
  "turnstream turns list --tenant acme",
  'turnstream keys create --tenant acme --new-tenant --name "our backend"',
  "turnstream knowledge import ./handbook --tenant acme --base handbook",
  "turnstream turns show --help",
];

function readVersion(): string {
  const text = readFileSync(new URL("../package.json", import.meta.url), "utf8");
  return (JSON.parse(text) as { version: string }).version;
}
