/**
 * Tools that a program doesn't write itself but gets from elsewhere, such as an MCP server. What such a source has to be
 * able to do; never one itself.
 */
import type { ErrorHandler } from "../../util/error-handler.ts";
import type { Json } from "@turnstream/protocol";
import type { Env } from "../../util/env.ts";
import type { Tool } from "./tool.ts";

export interface ToolSource {
  /** A letter and up to 31 of A-Z a-z 0-9 _ -. The model sees its tools as `<name>_<tool>`. */
  readonly name: string;
  /** Called once by each worker. Connects to nothing yet: that is for the first use. */
  open(host: ToolSourceContext): ToolSourceConnection;
}

export interface ToolSourceContext {
  readonly env: Env;
  /** Tells whoever runs the worker. No secrets. */
  readonly onError: ErrorHandler;
}

export interface ToolSourceConnection {
  /**
   * What it offers now, by the names that the source has for them. Asked at the start of every run and at every call,
   * so what can be remembered should be. One that takes long is not waited for.
   */
  tools(): Promise<Readonly<Record<string, SourceTool>>>;
  /** Ends everything that belongs to it. The worker leaves when that is done. */
  close(): Promise<void>;
}

export interface SourceTool extends Tool {
  /** Its input for the model, as JSON Schema of an object. Given as it is, since the source knows best. */
  readonly schema: Json;
  readonly label: string;
}
