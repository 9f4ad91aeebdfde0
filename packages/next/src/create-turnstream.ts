/**
 * `createTurnstream` creates the Turnstream server of a Next.js app, and `createHandlers` serves it in a route.
 * Invariant: a process has one server. Next.js evaluates the app's module several times: in the bundle of
 * `instrumentation.ts`, in that of the route, and again after each change in `next dev`. So the server is stored on
 * `globalThis`, and a later evaluation only replaces the agents and `user`. Nothing is opened while Next.js builds.
 */
import { type Turnstream, turnstream, type TurnstreamOptions } from "@turnstream/server";

/** The result of `turnstream()`, with a method for `instrumentation.ts`. */
export interface NextTurnstream extends Turnstream {
  /**
   * Starts the worker, unless `runsTurns` is false, and closes the server at SIGTERM and SIGINT. Call it in `register`
   * of `instrumentation.ts`. Without it, the worker starts with the first request.
   * @throws SettingsError if PostgreSQL or Redis can't be used
   */
  register(): Promise<void>;
}

interface NextServer {
  readonly app: NextTurnstream;
  /** The options of the last evaluation. */
  options: TurnstreamOptions;
  /** Resolves when the agents of the last evaluation answer. */
  replaced: Promise<void>;
}

const KEY = Symbol.for("@turnstream/next");
const servers = globalThis as { [KEY]?: NextServer };

/**
 * Creates the server at the first call in a process. Later calls return the same server, with the new `agents` and
 * `user`. Changes of other options need a restart.
 * @param options the options of `turnstream()`
 * @throws SettingsError if a setting is missing or wrong
 */
export function createTurnstream(options: TurnstreamOptions): NextTurnstream {
  const server = servers[KEY];
  if (server === undefined) return (servers[KEY] = createServer(options)).app;
  server.options = options;
  // In production the module doesn't change: both bundles have the same agents.
  if (process.env["NODE_ENV"] !== "production") {
    server.replaced = server.app.replaceAgents(options.agents);
    // The next request reports it.
    server.replaced.catch(() => undefined);
  }
  return server.app;
}

function createServer(options: TurnstreamOptions): NextServer {
  const app = turnstream({ ...options, user: (request) => server.options.user(request) });
  let registering: Promise<void> | null = null;
  const register = (): Promise<void> => (registering ??= start(server));
  const server: NextServer = {
    app: Object.assign(app, { register }),
    options,
    replaced: Promise.resolve(),
  };
  return server;
}

const METHODS = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"] as const;

/** Route handlers by HTTP method. */
export type Handlers = Readonly<Record<(typeof METHODS)[number], (request: Request) => Promise<Response>>>;

/** Returns the handlers of `app/api/v1/[...path]/route.ts`. */
export function createHandlers(app: Turnstream): Handlers {
  const handle = async (request: Request): Promise<Response> => {
    const server = servers[KEY];
    // A message that is sent after a change must be answered by the changed agent.
    if (server?.app === app) await server.replaced;
    return app.handle(withoutPrefix(request));
  };
  return Object.fromEntries(METHODS.map((method) => [method, handle])) as Record<
    keyof Handlers,
    typeof handle
  >;
}

/** After a rewrite, the URL of a request is still the one that the browser requested, below a path of the app. */
function withoutPrefix(request: Request): Request {
  const url = new URL(request.url);
  const index = url.pathname.indexOf("/api/v1/");
  if (index <= 0) return request;
  url.pathname = url.pathname.slice(index);
  return new Request(url, request);
}

const SIGNALS = ["SIGTERM", "SIGINT"] as const;

async function start({ app, options }: NextServer): Promise<void> {
  // Next.js can call `register` while it builds.
  if (process.env["NEXT_PHASE"] === "phase-production-build") return;
  const earlier = SIGNALS.map((signal) => process.listeners(signal));
  await app.parts();
  if (options.runsTurns !== false) await app.worker();
  let closing: Promise<void> | null = null;
  const close = (): Promise<void> => (closing ??= app.close().catch(reportCloseError));
  // Next.js decides how the process ends. The listener of the worker would end it sooner.
  for (const [n, signal] of SIGNALS.entries()) closeFirst(signal, close, earlier[n] ?? []);
}

function reportCloseError(error: unknown): void {
  process.stderr.write(`Turnstream could not close: ${String(error)}\n`);
}

/**
 * Closes the server before the other listeners of a signal run. Next.js waits for open requests, and event streams are
 * open until the server closes. Then Next.js ends the process, and turns that were not handed over would wait for the
 * end of their lease.
 */
function closeFirst(
  signal: (typeof SIGNALS)[number],
  close: () => Promise<void>,
  others: readonly NodeJS.SignalsListener[],
): void {
  let isReceived = false;
  const onSignal = async (...args: Parameters<NodeJS.SignalsListener>): Promise<void> => {
    // Ctrl-C arrives twice in `next dev`: from the terminal, and from the parent process.
    if (isReceived) return;
    isReceived = true;
    await close();
    if (others.length === 0) process.exit(0);
    for (const listener of others) listener(...args);
  };
  process.removeAllListeners(signal);
  process.on(signal, (...args) => void onSignal(...args));
}
