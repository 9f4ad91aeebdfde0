/**
 * `McpError` is the error of the MCP integration, with a code and advice for the operator.
 * Invariant: its messages contain no secrets, so `what` must be redacted before, and never contains a URL, header or
 * environment variable.
 */
import { defineErrors } from "@turnstream/server/internal";

const MEANINGS = {
  BAD_OPTIONS: "Correct the options of mcpServer().",
  UNAVAILABLE: "The MCP server can't be reached. Check that it runs, and that its command or URL is correct.",
  ENDED: "The connection to the MCP server ended. The worker reconnects when it needs the server again.",
  NO_SUCH_TOOL: "The MCP server has no such tool. Correct the name in the options of mcpServer().",
  TOO_LARGE: "The MCP server sent more than the limit.",
  OTHER_ORIGIN: "Requests go only to the origin of `url`. Set `url` of mcpServer() to the final address.",
} as const;

export class McpError extends defineErrors(
  "McpError",
  MEANINGS,
  (code, what, meaning) => `${code}: ${what}. ${meaning}`,
) {}
