/**
 * `run` parses the arguments, runs a command and prints its errors. It returns the exit code and does not end the
 * process.
 * Invariant: it prints only messages of `@turnstream/server` and this package. A message of the database driver could
 * contain the password from DATABASE_URL. The exit code is 0, 1 for a failure, or 2 for invalid arguments.
 */
import { RuntimeError, SettingsError } from "@turnstream/server";
import {
  explainServerError,
  resolveSettings,
  isEngineError,
  isLogError,
  isStoreError,
} from "@turnstream/server/internal";
import { CommanderError } from "commander";
import { CommandError, UsageError, type CliContext } from "./cli-context.ts";
import type { GlobalOptions } from "./command-call.ts";
import { createProgram } from "./create-program.ts";

/** Their messages contain no password and no secret. */
const OWN_ERRORS = [UsageError, CommandError, SettingsError, RuntimeError];
const FAILED = 1;
const MISUSED = 2;

/** @returns the exit code */
export async function run(args: readonly string[], context: CliContext): Promise<number> {
  const program = createProgram(context);
  try {
    await program.parseAsync(toCommandLine(args), { from: "user" });
    return 0;
  } catch (error) {
    // Commander has already printed the help, the version or the error.
    if (error instanceof CommanderError) {
      if (error.exitCode === 0) return 0;
      if (error.code !== "commander.help") suggestHelp(args, program.commands, context);
      return MISUSED;
    }
    context.err(`turnstream: ${describeError(error, program.opts<GlobalOptions>(), context)}\n`);
    if (!(error instanceof UsageError)) return FAILED;
    suggestHelp(args, program.commands, context);
    return MISUSED;
  }
}

/** `turnstream` prints its help, and `turnstream help keys` is `turnstream keys --help`. */
function toCommandLine(args: readonly string[]): string[] {
  const [first, ...rest] = args;
  return first === undefined || first === "help" ? [...rest, "--help"] : [...args];
}

function suggestHelp(
  args: readonly string[],
  commands: readonly { name(): string }[],
  context: CliContext,
): void {
  const name = args.find((arg) => commands.some((command) => command.name() === arg));
  context.err(`Try \`turnstream ${name === undefined ? "" : `${name} `}--help\`.\n`);
}

function describeError(thrown: unknown, options: GlobalOptions, { env }: CliContext): string {
  const error = explainServerError(thrown, resolveSettings(options, env));
  const isOurs = OWN_ERRORS.some((errorClass) => error instanceof errorClass);
  if (isOurs || isStoreError(error) || isEngineError(error) || isLogError(error))
    return (error as Error).message;
  return `unexpected error: ${error instanceof Error ? error.name : "unknown"}`;
}
