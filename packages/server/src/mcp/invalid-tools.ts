/**
 * `dropInvalidTools` removes invalid tools from a server's list before the MCP client reads it. The client refuses a
 * whole list for one invalid tool.
 * Invariant: a valid tool stays unchanged, and each removed tool is reported. A tool is checked for depth before
 * anything recurses into it.
 */
import { isJSONRPCResultResponse, isSpecType, type JSONRPCMessage } from "@modelcontextprotocol/client";
import type { Json } from "@turnstream/protocol";
import { isTooDeep } from "./input-schema.ts";

/** Longer names don't occur, and the journal stores each name. */
const MAX_NAME_CHARS = 256;

export type ReportTool = (tool: string, why: string) => void;

/** Changes the message in place. Only results of `tools/list` have a list named `tools`. */
export function dropInvalidTools(message: JSONRPCMessage, report: ReportTool): void {
  if (!isJSONRPCResultResponse(message)) return;
  const result = message.result as { tools?: unknown };
  if (!Array.isArray(result.tools)) return;
  result.tools = result.tools.filter((tool: unknown, n) => {
    const problem = findProblem(tool);
    if (problem !== null)
      report(nameOf(tool) ?? `number ${n + 1}`, `the tool is left out, because ${problem}`);
    return problem === null;
  });
}

function findProblem(tool: unknown): string | null {
  if (nameOf(tool) === null) return `its name is not a text of 1 to ${MAX_NAME_CHARS} characters`;
  const { inputSchema } = tool as { readonly inputSchema?: unknown };
  if (typeof inputSchema !== "object" || inputSchema === null || Array.isArray(inputSchema))
    return "its input schema is not an object";
  if (isTooDeep(inputSchema as Json)) return "its input schema is nested too deeply";
  if ((inputSchema as { type?: unknown }).type !== "object")
    return "its input schema does not have the type object";
  return isSpecType.Tool(tool) ? null : "its definition does not follow the MCP specification";
}

function nameOf(tool: unknown): string | null {
  const name = typeof tool === "object" && tool !== null && "name" in tool ? tool.name : null;
  return typeof name === "string" && name !== "" && name.length <= MAX_NAME_CHARS ? name : null;
}
