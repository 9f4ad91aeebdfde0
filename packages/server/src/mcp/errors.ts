/** `McpError` is the error of the MCP integration. Its messages contain no secrets. */
import { defineErrors } from "../util/errors.ts";

const MEANINGS = {
  BAD_OPTIONS: "Correct what mcpServer() is given.",
  UNAVAILABLE: "The MCP server can't be reached. See that it runs, and that its command or address is right.",
  ENDED: "The connection to the MCP server ended. It is made again when it is needed.",
  NO_SUCH_TOOL: "The MCP server has no such tool. Correct the name in what mcpServer() is given.",
  TOO_LARGE: "The MCP server sent more than is taken.",
} as const;

export class McpError extends defineErrors(
  "McpError",
  MEANINGS,
  (code, what, meaning) => `${code}: ${what}. ${meaning}`,
) {}
