/**
 * `mcpServer` makes the tools of an MCP server available to agents, as a `ToolSource`.
 * Invariant: options are checked at once, but nothing connects before the first use. Each `open` has its own
 * connection. The same list of the server gives the same tool objects. Problems are reported once per tool and never
 * contain arguments or results.
 */
import type { SourceTool, ToolSource } from "@turnstream/server";
import { cleanLine } from "./clean-text.ts";
import { McpConnectionManager } from "./connection-manager.ts";
import { checkOptions, type McpServerOptions } from "./options.ts";
import { toolsFrom } from "./tools.ts";

/** A server can list tools with new names at any time, so the number of reports is limited. */
const MAX_REPORTED = 100;
/** How many characters of a tool's name a report has. */
const MAX_SHOWN = 100;

export function mcpServer(options: McpServerOptions): ToolSource {
  checkOptions(options);
  return {
    name: options.name,
    open(host) {
      const reported = new Set<string>();
      const report = (tool: string, why: string): void => {
        if (reported.has(tool) || reported.size >= MAX_REPORTED) return;
        reported.add(tool);
        const shown = cleanLine(tool, MAX_SHOWN);
        host.onError(new Error(why), { during: `the tool ${shown} of the MCP server ${options.name}` });
      };
      const manager = new McpConnectionManager(options, host, report);
      let made: { readonly from: unknown; readonly tools: Record<string, SourceTool> } | null = null;
      return {
        async tools() {
          const from = await manager.tools();
          if (made?.from !== from) made = { from, tools: toolsFrom(from, options, manager, report) };
          return made.tools;
        },
        close: () => manager.close(),
      };
    },
  };
}
