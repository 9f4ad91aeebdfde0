/**
 * `McpConnectionManager` provides a working connection to one MCP server. It connects on first use, reconnects after a
 * failure with backoff, and caches the list of tools until it changes, for at most 5 minutes.
 * Invariant: a call is repeated only once, and only if the server certainly did not execute it. At most one connection
 * accepts calls; a retired one only finishes its own. During the backoff, calls fail with the last error and don't
 * connect. Errors leave without secrets.
 */
import { type CallToolResult, SdkHttpError, type Tool } from "@modelcontextprotocol/client";
import type { ToolSourceContext, ToolContext } from "@turnstream/server";
import { backoffDelay } from "@turnstream/server/internal";
import { Connection } from "./connection.ts";
import { McpError } from "./errors.ts";
import type { ReportTool } from "./check-result.ts";
import type { McpServerOptions } from "./options.ts";
import { Redactor } from "./redact.ts";

/** Backoff between failed attempts to connect. Until it ends, calls fail with the last error. */
const COOLDOWN = { initialDelayMs: 500, maxDelayMs: 30_000 };
/** Maximum age of the tool list, for servers that don't announce changes. */
const LIST_AGE_MS = 5 * 60 * 1_000;

export class McpConnectionManager {
  readonly #options: McpServerOptions;
  readonly #host: ToolSourceContext;
  readonly #onInvalidTool: ReportTool;
  readonly #redactor = new Redactor();
  #connection: Promise<Connection> | null = null;
  #tools: { readonly at: number; readonly list: Promise<readonly Tool[]> } | null = null;
  #failures = 0;
  #cooldown: { readonly until: number; readonly error: unknown } | null = null;
  readonly #closed = new AbortController();

  constructor(options: McpServerOptions, host: ToolSourceContext, onInvalidTool: ReportTool) {
    this.#options = options;
    this.#host = host;
    this.#onInvalidTool = onInvalidTool;
  }

  async tools(): Promise<readonly Tool[]> {
    const now = this.#host.env.now();
    if (this.#tools === null || this.#tools.at < now - LIST_AGE_MS) {
      const list = this.#list();
      this.#tools = { at: now, list };
      list.catch(() => {
        if (this.#tools?.list === list) this.#tools = null;
      });
    }
    return this.#tools.list;
  }

  async #list(): Promise<readonly Tool[]> {
    const connection = await this.#connect();
    try {
      return await connection.tools();
    } catch (error) {
      connection.retire();
      throw new McpError("UNAVAILABLE", connection.clean(error));
    }
  }

  /** @throws Error with a message that the model may read */
  async call(
    name: string,
    input: Readonly<Record<string, unknown>>,
    context: ToolContext,
  ): Promise<CallToolResult> {
    for (let isAgain = false; ; isAgain = true) {
      const connection = await this.#connect();
      try {
        return await connection.call(name, input, context);
      } catch (error) {
        context.signal.throwIfAborted();
        if (isBroken(error)) connection.retire();
        // The server did not execute the call: it had lost our session, or was unreachable. So it is safe to repeat.
        if (!isAgain && isUndelivered(error)) continue;
        throw connection.failure(error);
      }
    }
  }

  /** Removes secrets from a server's text. */
  clean(text: string): string {
    return this.#redactor.clean(text);
  }

  #connect(): Promise<Connection> {
    if (this.#closed.signal.aborted) return Promise.reject(new McpError("ENDED", "the worker has shut down"));
    if (this.#connection !== null) return this.#connection;
    const { env } = this.#host;
    if (this.#cooldown !== null && this.#cooldown.until > env.now())
      return Promise.reject(this.#cooldown.error);
    const forget = (): void => {
      if (this.#connection === opening) this.#connection = null;
      this.#tools = null;
    };
    const hooks = {
      env,
      redactor: this.#redactor,
      onEnd: forget,
      onInvalidTool: this.#onInvalidTool,
      onToolsChanged: () => {
        this.#tools = null;
      },
      onError: (error: unknown) =>
        this.#host.onError(error, { during: `the MCP server ${this.#options.name}` }),
    };
    const opening = Connection.open(this.#options, hooks, this.#closed.signal);
    this.#connection = opening;
    void this.#note(opening, forget);
    return opening;
  }

  async #note(opening: Promise<Connection>, forget: () => void): Promise<void> {
    try {
      await opening;
      this.#failures = 0;
      this.#cooldown = null;
    } catch (error) {
      const ms = backoffDelay(++this.#failures, COOLDOWN, Math.random());
      this.#cooldown = { until: this.#host.env.now() + ms, error };
      forget();
    }
  }

  async close(): Promise<void> {
    this.#closed.abort(new McpError("ENDED", "the worker has shut down"));
    const connection = await this.#connection?.catch(() => null);
    this.#connection = null;
    await connection?.close();
  }
}

/** True if the error comes from the connection and not from the tool. */
function isBroken(error: unknown): boolean {
  return (
    error instanceof SdkHttpError || isRefused(error) || /connection (ended|closed)/i.test(String(error))
  );
}

function isUndelivered(error: unknown): boolean {
  if (!(error instanceof SdkHttpError)) return isRefused(error);
  return error.status === 404 || (error.status === 400 && /session/i.test(error.message));
}

function isRefused(error: unknown): boolean {
  const cause: unknown = error instanceof Error ? error.cause : undefined;
  return cause instanceof Error && "code" in cause && cause.code === "ECONNREFUSED";
}
