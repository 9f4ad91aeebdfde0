/** What can be said to the command. Reads the arguments; never does what they say. */
import { parseArgs } from "node:util";

export const DEFAULT_PORT = 4400;

export const HELP = `npm start -- [options]

Starts the market assistant: PostgreSQL, Redis, a server, a worker and a chat page. Prints one address to open in a
browser. Ctrl-C ends everything; what was written to its own PostgreSQL and Redis is thrown away then.

  --port N     where the page is (${DEFAULT_PORT}, or a free port when that is taken)
  --speed N    how fast the scripted model and the tools are (1, as in life)
  --help       this text

Environment:
  ANTHROPIC_API_KEY, OPENAI_API_KEY   a real model answers instead of the script
  MARKET_MODEL                        which one, by its provider's name for it
  DATABASE_URL, REDIS_URL             your own PostgreSQL and Redis instead of new ones

Examples:
  npm start
  npm start -- --port 8080
  ANTHROPIC_API_KEY=... npm start`;

export interface Options {
  /** Null when nothing was said. */
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
    throw new UsageError(`--port has to be a number from 0 to 65535, not "${values.port}".`);
  if (!(speed > 0 && speed <= 1_000))
    throw new UsageError(`--speed has to be a number above 0 and up to 1000, not "${values.speed}".`);
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
