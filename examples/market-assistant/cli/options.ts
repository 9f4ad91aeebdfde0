/** `readOptions` parses the arguments of the command, and `HELP` describes them. Does not act on them. */
import { parseArgs } from "node:util";

export const DEFAULT_PORT = 4400;

export const HELP = `npm start -- [options]

Starts the market assistant: PostgreSQL, Redis, a server, a worker and a chat page. Prints a URL to open in a
browser. Ctrl-C stops everything and deletes the data of its own PostgreSQL and Redis.

  --port N     port of the page (default: ${DEFAULT_PORT}, or a free port if it is in use)
  --speed N    speed of the scripted model and the tools (default: 1)
  --help       this text

Environment:
  ANTHROPIC_API_KEY, OPENAI_API_KEY   use a real model instead of the scripted one
  MARKET_MODEL                        the provider's name of the model
  DATABASE_URL, REDIS_URL             use your own PostgreSQL and Redis instead of new ones

Examples:
  npm start
  npm start -- --port 8080
  ANTHROPIC_API_KEY=... npm start`;

export interface Options {
  /** Null if `--port` is missing. */
  readonly port: number | null;
  readonly speed: number;
  readonly help: boolean;
}

export class UsageError extends Error {}

export function readOptions(args: readonly string[]): Options {
  const values = valuesOf(args);
  const port = values.port === undefined ? null : Number(values.port);
  const speed = Number(values.speed ?? "1");
  if (port !== null && !(Number.isInteger(port) && port >= 0 && port <= 65_535))
    throw new UsageError(`--port must be a number from 0 to 65535, got "${values.port}".`);
  if (!(speed > 0 && speed <= 1_000))
    throw new UsageError(`--speed must be a number above 0 and at most 1000, got "${values.speed}".`);
  return { port, speed, help: values.help ?? false };
}

function valuesOf(args: readonly string[]) {
  try {
    const options = {
      port: { type: "string" },
      speed: { type: "string" },
      help: { type: "boolean", short: "h" },
    } as const;
    return parseArgs({ args: [...args], options }).values;
  } catch (error) {
    throw new UsageError(error instanceof Error ? error.message : String(error));
  }
}
