/**
 * `mcpServer` makes the tools of an MCP server available to agents, as a `ToolSource`.
 * Invariant: options are checked at once, but nothing connects before the first use. Each `open` has its own
 * connection. The same list of the server gives the same tool objects. Problems are reported once per tool and never
 * contain arguments or results.
 */
import type { SourceTool, ToolSource } from "../runtime/define/tool-source.ts";
import { McpConnectionManager } from "./connection-manager.ts";
import { checkOptions, type McpServerOptions } from "./options.ts";
import { toolsFrom } from "./tools.ts";

export function mcpServer(options: McpServerOptions): ToolSource {
  checkOptions(options);
  return {
    name: options.name,
    open(host) {
      const manager = new McpConnectionManager(options, host);
      const reported = new Set<string>();
      const report = (tool: string, why: string): void => {
        if (reported.has(tool)) return;
        reported.add(tool);
        host.onError(new Error(why), { during: `the tool ${tool} of the MCP server ${options.name}` });
      };
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
