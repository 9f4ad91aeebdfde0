/**
 * `runApp` runs the server or worker of a developer's agents until Ctrl-C: it is what `dev`, `serve` and `worker` share.
 * `requireServers` checks that the data outlives the process.
 * Invariant: an option of the command overrides the file, and the file overrides the environment. The app is closed in
 * order also if its start fails. All lines are written to stderr.
 */
import { once } from "node:events";
import { type Turnstream, turnstream, type TurnstreamOptions } from "@turnstream/server";
import {
  requireDatabaseUrl,
  requireRedisUrl,
  requireSecret,
  type Settings,
} from "@turnstream/server/internal";
import type { AppDefinition } from "./agent-file/agent-file.ts";
import { CommandError } from "./cli-context.ts";
import type { CommandCall } from "./command-call.ts";
import { createStyles, wrap, type Styles } from "./styles.ts";

/** @throws SettingsError that names the missing variable */
export function requireServers(settings: Settings, { databaseUrl, redisUrl, secret }: AppDefinition): void {
  if (databaseUrl === undefined) requireDatabaseUrl(settings);
  if (redisUrl === undefined) requireRedisUrl(settings);
  if (secret === undefined) requireSecret(settings);
}

/** @param start starts the app; it is closed when the user presses Ctrl-C, or if this fails */
export async function runApp(
  call: CommandCall,
  options: TurnstreamOptions,
  start: (app: Turnstream) => Promise<void>,
): Promise<void> {
  const { signal } = call.context;
  const app = turnstream({ print: createPrinter(call), ...options, ...overridesOf(call.settings) });
  try {
    await start(app);
    if (!signal.aborted) await once(signal, "abort");
    call.notice("Turnstream ends. Press Ctrl-C again to end it at once.");
  } catch (error) {
    throw explain(error);
  } finally {
    await app.close();
  }
}

function overridesOf({ databaseUrl, redisUrl, schema }: Settings): Partial<TurnstreamOptions> {
  const given = Object.entries({ databaseUrl, redisUrl, schema }).filter(
    ([, { source }]) => source === "option",
  );
  return Object.fromEntries(given.map(([name, { value }]) => [name, value]));
}

function explain(error: unknown): unknown {
  const { code, port } = error as { readonly code?: unknown; readonly port?: unknown };
  if (code === "EACCES")
    return new CommandError(`You may not use port ${String(port)}. Choose one above 1023 with --port.`);
  return error;
}

/** Returns the function that prints lines of the app, wrapped and colored for a terminal. */
export function createPrinter({ context }: Pick<CommandCall, "context">): (line: string) => void {
  const styles = createStyles(context.hasColors && context.isTerminal);
  return (line) => {
    const columns = context.isTerminal ? context.columns : null;
    context.err(`${formatLine(line, columns, styles)}\n`);
  };
}

const TIMED = /^(\d\d:\d\d:\d\d) (.*)$/;
const PROBLEM = /^error in | failed[,:]|^\S+[.]\w+(?::\d+)?: /;
const WAITS = / waits for | requests (?:a|the) /;

/** Formats a line. Lines of a stack and lines for a file stay as they are. Pure. */
export function formatLine(line: string, columns: number | null, styles: Styles): string {
  if (line.includes("\n")) return line;
  const [, time = "", text = line] = TIMED.exec(line) ?? [];
  const color = PROBLEM.test(text) ? styles.red : WAITS.test(text) ? styles.bold : (plain: string) => plain;
  const indent = time === "" ? 0 : time.length + 1;
  const lines = wrap(text, columns === null ? Infinity : Math.max(columns - indent, 20)).map(color);
  const [first = "", ...rest] = lines;
  const start = time === "" ? first : `${styles.dim(time)} ${first}`;
  return [start, ...rest.map((each) => `${" ".repeat(indent)}${each}`)].join("\n");
}
