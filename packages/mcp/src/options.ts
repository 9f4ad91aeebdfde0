/**
 * `McpServerOptions` declares the options of `mcpServer`, and `checkOptions` validates them at startup. Types and
 * checks only.
 * Invariant: by default the server's annotations are not trusted, and no tool may run again after a crash. Options
 * name tools as the server does, without the prefix. Messages never contain the URL, because it can contain a secret.
 */
import type { ApprovalContext, ApprovalOptions } from "@turnstream/server";
import { McpError } from "./errors.ts";

/** The arguments of a call. */
type Input = Readonly<Record<string, unknown>>;

type Needed = boolean | ApprovalOptions;

/** True, options, or a function that decides for each call. `tool` is the server's name of the tool. */
export type McpApproval =
  | Needed
  | ((input: Input, context: ApprovalContext & { readonly tool: string }) => Needed | Promise<Needed>);

export interface McpToolOptions {
  /** Offers only these tools, by the server's names. @default all */
  readonly include?: readonly string[];
  /** Does not offer these tools, by the server's names. @default none */
  readonly exclude?: readonly string[];
  /** Whether calls need the user's approval. @default false */
  readonly approval?: McpApproval;
  /** Approval per tool, by the server's names. Takes precedence over `approval`. */
  readonly approvals?: Readonly<Record<string, McpApproval>>;
  /** Maximum time of a call. @default the agent's `limits.toolTimeoutMs` */
  readonly timeoutMs?: number;
  /** How long a user has to fill in a form that the server requests during a call. @default 300 */
  readonly formSeconds?: number;
}

interface Common extends McpToolOptions {
  /** Prefix of the tool names: `<name>_<tool>`. */
  readonly name: string;
  /** Name of the server for users: on approvals and calls, and as the title of forms that it requests. @default `name` */
  readonly label?: string;
  /** Maximum time for connecting. @default 10_000 */
  readonly connectMs?: number;
  /** Whether to negotiate the 2026 version of the protocol first. @default true over HTTP, false over stdio */
  readonly negotiate?: boolean;
}

export interface McpStdioOptions extends Common {
  readonly command: string;
  readonly args?: readonly string[];
  /** Environment variables of the process. Besides these it gets only HOME, LOGNAME, PATH, SHELL, TERM and USER. */
  readonly env?: Readonly<Record<string, string>>;
}

type Headers = Readonly<Record<string, string>>;

export interface McpHttpOptions extends Common {
  readonly url: string | URL;
  /** Sent with every request. A function is called for each request, for tokens that expire. */
  readonly headers?: Headers | (() => Headers | Promise<Headers>);
}

export type McpServerOptions = McpStdioOptions | McpHttpOptions;

export function isStdio(options: McpServerOptions): options is McpStdioOptions {
  return "command" in options;
}

export function checkOptions(options: McpServerOptions): void {
  const { name, timeoutMs = 1, connectMs = 1, formSeconds = 1 } = options;
  if (typeof name !== "string" || name === "")
    throw new McpError("BAD_OPTIONS", "the name of a server must be a non-empty string");
  for (const [field, value] of Object.entries({ timeoutMs, connectMs, formSeconds }))
    if (!(value > 0)) throw new McpError("BAD_OPTIONS", `${field} of the server ${name} must be above 0`);
  if (isStdio(options)) {
    if (options.command === "")
      throw new McpError("BAD_OPTIONS", `the command of the server ${name} must not be empty`);
    return;
  }
  const url = URL.parse(String(options.url));
  // The message does not include the URL, because it can contain a secret.
  if (url === null || !["http:", "https:"].includes(url.protocol))
    throw new McpError("BAD_OPTIONS", `the url of the server ${name} must be an http or https URL`);
}
