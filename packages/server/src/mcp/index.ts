/** `@turnstream/server/mcp`: MCP servers as sources of tools. Needs `@modelcontextprotocol/client` beside it. */
export { McpError } from "./errors.ts";
export type {
  McpApproval,
  McpHttpOptions,
  McpServerOptions,
  McpStdioOptions,
  McpToolOptions,
} from "./options.ts";
export { mcpServer } from "./server.ts";
