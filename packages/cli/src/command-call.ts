/**
 * `CommandCall` is one call of a command: its context, its settings, and how it prints its result. `action` connects the
 * function of a command to the library that parses arguments.
 * Invariant: with `--json`, stdout gets only JSON: one document per command, or one line per event of a stream. Notices
 * are written to stderr in both cases.
 */
import { resolveSettings, type Settings } from "@turnstream/server/internal";
import { type Command, Option } from "commander";
import { UsageError, type CliContext } from "./cli-context.ts";
import { createStyles, type Styles } from "./styles.ts";

const MAX_PORT = 65_535;

/** The options that every command accepts. */
export interface GlobalOptions {
  readonly json?: boolean;
  readonly databaseUrl?: string;
  readonly redisUrl?: string;
  readonly schema?: string;
}

export interface CommandCall {
  readonly context: CliContext;
  readonly settings: Settings;
  readonly isJson: boolean;
  readonly styles: Styles;
  /** Prints `value` as JSON with `--json`, and otherwise the lines. */
  print(value: unknown, lines: readonly string[]): void;
  /** Writes a line to stderr. */
  notice(text: string): void;
}

/**
 * @param run receives the options of the command, as it declares them, and then its arguments
 * @returns the handler that Commander calls with the arguments, the options and the command
 */
export function action(
  context: CliContext,
  run: (call: CommandCall, options: never, ...args: string[]) => Promise<void>,
): (...parsed: unknown[]) => Promise<void> {
  return async (...parsed) => {
    const command = parsed.at(-1) as Command;
    const options = command.optsWithGlobals<GlobalOptions>();
    // An optional argument that is absent is undefined.
    const args = parsed.slice(0, -2).filter((arg) => typeof arg === "string");
    await run(createCall(context, options), options as never, ...args);
  };
}

function createCall(context: CliContext, options: GlobalOptions): CommandCall {
  const isJson = options.json === true;
  return {
    context,
    settings: resolveSettings(options, context.env),
    isJson,
    styles: createStyles(context.hasColors && !isJson),
    print(value, lines) {
      if (isJson) context.out(`${JSON.stringify(value, null, 2)}\n`);
      else for (const line of lines) context.out(`${line}\n`);
    },
    notice: (text) => context.err(`${text}\n`),
  };
}

/** Collects an option that may be repeated. */
export function collect(value: string, earlier: readonly string[] = []): string[] {
  return [...earlier, value];
}

/** Parses `--port`. @throws UsageError */
export function parsePort(value: string): number {
  const port = Number(value);
  if (!/^\d+$/.test(value) || port > MAX_PORT)
    throw new UsageError(`--port must be a number from 0 to ${MAX_PORT}, got ${value}.`);
  return port;
}

/** The option for how long running steps and tools may continue after SIGTERM. */
export function drainOption(): Option {
  return new Option(
    "--drain-ms <number>",
    "how long running steps and tools may continue after SIGTERM. Default: 30000",
  )
    .env("TURNSTREAM_DRAIN_MS")
    .argParser((value) => {
      if (!/^\d{1,9}$/.test(value))
        throw new UsageError(`--drain-ms must be a number from 0 to 999999999, got ${value}.`);
      return Number(value);
    });
}

/** The examples of a command, for `addHelpText`. */
export function examples(lines: readonly string[]): string {
  return ["", "Examples:", ...lines.map((line) => `  ${line}`)].join("\n");
}
