/**
 * `@turnstream/server/mcp` exports `mcpServer`, which adds the tools of an MCP server to an agent.
 * Invariant: only this folder imports the optional package `@modelcontextprotocol/client`, and no other entry imports
 * this folder. So apps without MCP don't need the package.
 */
export { McpError } from "./errors.ts";
export type {
  McpApproval,
  McpHttpOptions,
  McpServerOptions,
  McpStdioOptions,
  McpToolOptions,
} from "./options.ts";
export { mcpServer } from "./server.ts";
