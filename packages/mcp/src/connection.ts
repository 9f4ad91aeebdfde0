/**
 * `Connection` is one connection to an MCP server, from handshake to end. Does not reconnect: `McpConnectionManager`
 * does.
 * Invariant: reports and the errors of `failure` contain no secrets and no `cause`; at most 20 are reported. `onEnd`
 * is not called for `close`. A retired connection closes only after its last call. A server's schema is never compiled
 * to code. A server process gets only the configured environment variables, besides a few basic ones.
 */
import { type CallToolResult, Client, type JSONRPCMessage, type Tool } from "@modelcontextprotocol/client";
import { StdioClientTransport } from "@modelcontextprotocol/client/stdio";
import { type Env, MAX_TIMER_MS, sleep } from "@turnstream/server/internal";
import type { ToolContext } from "@turnstream/server";
import { cleanLine } from "./clean-text.ts";
import { answerElicitation } from "./elicit.ts";
import { McpError } from "./errors.ts";
import { HttpTransport, MAX_EVENT_BYTES } from "./http-transport.ts";
import { checkResult, type ReportTool } from "./check-result.ts";
import { isStdio, type McpServerOptions } from "./options.ts";
import type { Redactor } from "./redact.ts";
import { withoutCallContext, RunningCalls } from "./running-call.ts";
import { safeValidator } from "./input-schema.ts";

const CONNECT_MS = 10_000;
const LIST_MS = 10_000;
const MAX_PAGES = 100;
const FORM_SECONDS = 300;
const MAX_PROGRESS = 500;
/** Maximum reported errors per connection. A server that sends garbage would otherwise fill the worker's log. */
const MAX_REPORTS = 20;
const MAX_MESSAGE_CHARS = 2_000;
/** How much of a server process's stderr is retained, in characters. */
const MAX_TAIL = 1_000;

export interface ConnectionHooks {
  readonly env: Env;
  readonly redactor: Redactor;
  /** Called when the connection ends by itself or is retired, but not for `close`. */
  onEnd(): void;
  onToolsChanged(): void;
  onError(error: unknown): void;
  /** Called for each tool that is left out because it is invalid. */
  readonly onInvalidTool: ReportTool;
}

export class Connection {
  readonly #client: Client;
  readonly #calls: RunningCalls;
  readonly #hooks: ConnectionHooks;
  #isClosed = false;
  #isRetired = false;
  #reports = 0;

  private constructor(options: McpServerOptions, hooks: ConnectionHooks) {
    const { label, name, formSeconds: timeoutSeconds = FORM_SECONDS } = options;
    this.#hooks = hooks;
    this.#calls = new RunningCalls(hooks.env, !isStdio(options));
    this.#client = new Client(
      { name: "turnstream", version: "1" },
      {
        capabilities: { elicitation: { form: {} } },
        listMaxPages: MAX_PAGES,
        // The default validator would compile a server's schema to code.
        jsonSchemaValidator: safeValidator,
        versionNegotiation: { mode: (options.negotiate ?? !isStdio(options)) ? "auto" : "legacy" },
        listChanged: {
          tools: { autoRefresh: false, debounceMs: 0, onChanged: () => hooks.onToolsChanged() },
        },
      },
    );
    const elicit = {
      title: label ?? name,
      timeoutSeconds,
      onDeclined: (why: string) => this.#report(new Error(why)),
    };
    this.#client.setRequestHandler("elicitation/create", ({ params }) =>
      answerElicitation(params, this.#calls.asking(), elicit),
    );
  }

  /** @param signal aborts the handshake */
  static open(options: McpServerOptions, hooks: ConnectionHooks, signal: AbortSignal): Promise<Connection> {
    return withoutCallContext(() => new Connection(options, hooks).#connect(options, signal));
  }

  async #connect(options: McpServerOptions, signal: AbortSignal): Promise<Connection> {
    const { redactor } = this.#hooks;
    const { transport, tail } = createTransport(options, redactor);
    const lastOutput = (): string => {
      const output = redactor.clean(tail()).trim();
      return output === "" ? "" : `; last output: ${output}`;
    };
    const client = this.#client;
    const onerror = (error: Error): void => {
      if (transport instanceof HttpTransport && transport.isHandingIn) return;
      // The notification stream is lost, so changes of the tool list would go unnoticed.
      if (error.message.startsWith("Maximum reconnection attempts")) return this.retire();
      this.#report(error);
      // The stream would be opened again, and the server could repeat what exceeded the limit.
      if (error.message.includes("TOO_LARGE: an event")) this.retire();
    };
    const onclose = (): void => {
      if (this.#isClosed) return;
      this.#isClosed = true;
      this.#report(new McpError("ENDED", `the server ended the connection${lastOutput()}`));
      this.#hooks.onEnd();
    };
    Object.assign(client, { onerror });
    // The client calls this before its own handler.
    Object.assign(transport, {
      onmessage: (message: JSONRPCMessage) => checkResult(message, this.#hooks.onInvalidTool),
    });
    try {
      await client.connect(transport, { timeout: options.connectMs ?? CONNECT_MS, signal });
    } catch (error) {
      this.#isClosed = true;
      await client.close().catch(() => {});
      await transport.close().catch(() => {});
      throw new McpError("UNAVAILABLE", `${this.clean(error)}${lastOutput()}`);
    }
    Object.assign(client, { onclose });
    return this;
  }

  async tools(): Promise<readonly Tool[]> {
    const { tools } = await this.#client.listTools({}, { timeout: LIST_MS, cacheMode: "refresh" });
    return tools;
  }

  call(
    name: string,
    input: Readonly<Record<string, unknown>>,
    context: ToolContext,
  ): Promise<CallToolResult> {
    let last = "";
    const work = this.#calls.run(context, () =>
      this.#client.callTool(
        { name, arguments: { ...input } },
        {
          signal: context.signal,
          // The worker enforces the tool's timeout, so the client's timeout is disabled.
          timeout: MAX_TIMER_MS,
          onprogress: ({ progress, total, message }) => {
            const share = total === undefined ? String(progress) : `${progress}/${total}`;
            const text = cleanLine(message ?? share, MAX_PROGRESS);
            if (text !== last) context.progress(text);
            last = text;
          },
        },
      ),
    );
    return work.finally(() => {
      if (this.#isRetired && this.#calls.size === 0) void this.close();
    });
  }

  /** Accepts no more calls, and closes when the running ones are done. */
  retire(): void {
    if (this.#isRetired) return;
    this.#isRetired = true;
    this.#hooks.onEnd();
    if (this.#calls.size === 0) void this.close();
  }

  async close(): Promise<void> {
    if (this.#isClosed) return;
    this.#isClosed = true;
    const { transport } = this.#client;
    // Lets the server free the state of our session.
    if (transport instanceof HttpTransport) await endSession(transport);
    await this.#client.close().catch(() => {});
  }

  /** Returns the message of an error and its cause, without secrets. */
  clean(error: unknown): string {
    const message = error instanceof Error ? error.message : String(error);
    const cause = error instanceof Error && error.cause instanceof Error ? `: ${error.cause.message}` : "";
    return this.#hooks.redactor.clean(`${message}${cause}`).slice(0, MAX_MESSAGE_CHARS);
  }

  /** Creates the error for the model. It has no `cause`, because a cause can contain secrets. */
  failure(error: unknown): Error {
    return new Error(this.clean(error));
  }

  #report(error: unknown): void {
    if (++this.#reports > MAX_REPORTS) return;
    const more = this.#reports === MAX_REPORTS ? " (further errors are not reported)" : "";
    this.#hooks.onError(new Error(`${this.clean(error)}${more}`));
  }
}

const GOODBYE_MS = 1_000;

async function endSession(transport: HttpTransport): Promise<void> {
  const timeout = sleep(GOODBYE_MS, { unref: true });
  await Promise.race([transport.terminateSession().catch(() => {}), timeout]);
}

/** `tail` returns the last output of the server process on stderr. */
function createTransport(options: McpServerOptions, redactor: Redactor) {
  if (!isStdio(options)) {
    const url = new URL(options.url);
    for (const secret of [url.username, url.password, ...url.searchParams.values()]) redactor.add(secret);
    return { transport: new HttpTransport(options, redactor), tail: () => "" };
  }
  const { command, args = [], env = {} } = options;
  for (const value of Object.values(env)) redactor.add(value);
  const transport = new StdioClientTransport({
    command,
    args: [...args],
    env: { ...env },
    stderr: "pipe",
    maxBufferSize: MAX_EVENT_BYTES,
  });
  let tail = "";
  transport.stderr?.on("data", (chunk: Buffer) => {
    tail = (tail + chunk.toString()).slice(-MAX_TAIL);
  });
  return { transport, tail: () => tail };
}
