/** `@turnstream/mcp` exports `mcpServer`, which adds the tools of an MCP server to an agent. */
export { McpError } from "./errors.ts";
export type {
  McpApproval,
  McpHttpOptions,
  McpServerOptions,
  McpStdioOptions,
  McpToolOptions,
} from "./options.ts";
export { mcpServer } from "./server.ts";
