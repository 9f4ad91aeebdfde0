/** What a developer says about an MCP server, and whether it can be used. Types and checks only. */
import type { ApprovalContext, ApprovalOptions } from "../runtime/define/approval.ts";
import { McpError } from "./errors.ts";

/** The arguments of a call. */
type Input = Readonly<Record<string, unknown>>;

type Needed = boolean | ApprovalOptions;

/** True, options, or a policy that decides for each call. `tool` is the server's name of it. */
export type McpApproval =
  | Needed
  | ((input: Input, context: ApprovalContext & { readonly tool: string }) => Needed | Promise<Needed>);

export interface McpToolOptions {
  /** Only these tools are offered, by the names that the server has for them. */
  readonly include?: readonly string[];
  /** These are not offered. */
  readonly exclude?: readonly string[];
  /** Whether calls need a person's approval. */
  readonly approval?: McpApproval;
  /** The same for single tools, by the server's names; goes before `approval`. */
  readonly approvals?: Readonly<Record<string, McpApproval>>;
  /** The tools that another worker may run again after a crash, by the names that the server has for them. */
  readonly idempotentTools?: readonly string[];
  /**
   * Believes what the server says of its tools: those that it calls read-only or idempotent may be run again. Only for
   * servers that you would run as your own code.
   */
  readonly trustAnnotations?: boolean;
  /** How long a call may take; the agent's `limits.toolTimeoutMs` when absent. */
  readonly timeoutMs?: number;
  /** How long people have to fill in what the server asks for in a call; 300 by default. */
  readonly formSeconds?: number;
}

interface Common extends McpToolOptions {
  /** Tools are called `<name>_<tool>`. */
  readonly name: string;
  /** For people, where the server asks for something; the name when absent. */
  readonly label?: string;
  /** How long connecting may take; 10 s by default. */
  readonly connectMs?: number;
  /** Whether to ask the server for the protocol of 2026 first. By default over HTTP, and not over stdio. */
  readonly negotiate?: boolean;
}

export interface McpStdioOptions extends Common {
  readonly command: string;
  readonly args?: readonly string[];
  /** All that the process is given, beside HOME, LOGNAME, PATH, SHELL, TERM and USER. */
  readonly env?: Readonly<Record<string, string>>;
  readonly cwd?: string;
}

type Headers = Readonly<Record<string, string>>;

export interface McpHttpOptions extends Common {
  readonly url: string | URL;
  /** Sent with every request; a function is asked each time, for tokens that expire. */
  readonly headers?: Headers | (() => Headers | Promise<Headers>);
}

export type McpServerOptions = McpStdioOptions | McpHttpOptions;

export function isStdio(options: McpServerOptions): options is McpStdioOptions {
  return "command" in options;
}

export function checkOptions(options: McpServerOptions): void {
  const { name, timeoutMs = 1, connectMs = 1, formSeconds = 1 } = options;
  if (typeof name !== "string" || name === "") throw new McpError("BAD_OPTIONS", "a server without a name");
  for (const [field, value] of Object.entries({ timeoutMs, connectMs, formSeconds }))
    if (!(value > 0)) throw new McpError("BAD_OPTIONS", `${field} of the server ${name} is not above 0`);
  if (isStdio(options)) {
    if (options.command === "") throw new McpError("BAD_OPTIONS", `the server ${name} has an empty command`);
    return;
  }
  const url = URL.parse(String(options.url));
  // The address itself may hold a secret, so it is not repeated.
  if (url === null || !["http:", "https:"].includes(url.protocol))
    throw new McpError("BAD_OPTIONS", `the url of the server ${name} is not one of http or https`);
}
