/**
 * `ToolSource` is the port for tools that come from elsewhere, such as an MCP server. Types only.
 *
 * Invariant: `open` must not connect, and `tools` may return other tools at every call. `ToolSources` opens each source
 * once per worker and looks up a tool at every call. Its 5 s timeout must equal the one documented here.
 */
import type { ErrorHandler } from "../../util/error-handler.ts";
import type { Json } from "@turnstream/protocol";
import type { Env } from "../../util/env.ts";
import type { Tool } from "./tool.ts";

export interface ToolSource {
  /** A letter followed by up to 31 of A-Z a-z 0-9 _ -. The model sees the tools as `<name>_<tool>`. */
  readonly name: string;
  /** Called once per worker. It must not connect yet: connect on first use. */
  open(host: ToolSourceContext): ToolSourceConnection;
}

export interface ToolSourceContext {
  readonly env: Env;
  /** Reports an error to the operator. It must not contain secrets. */
  readonly onError: ErrorHandler;
}

export interface ToolSourceConnection {
  /**
   * Returns the tools that the source offers now, by their names in the source. It is called at the start of every run
   * and at every call, so cache the list. After 5 s the worker continues without the source.
   */
  tools(): Promise<Readonly<Record<string, SourceTool>>>;
  /** Releases all resources. The worker waits for it during shutdown. */
  close(): Promise<void>;
}

export interface SourceTool extends Tool {
  /** JSON Schema of the input, which must be an object. The model gets it unchanged. */
  readonly schema: Json;
  /** For users, chosen by the developer. It must not come from an untrusted server: see `title`. */
  readonly label: string;
  /** The server that the tool comes from, by the developer's name for it. Approvals show it. */
  readonly server?: string;
  /** What the server itself calls the tool. Approvals show it, marked as the server's text. */
  readonly title?: string;
}
