/**
 * `checkResult` prepares the result of an MCP server for the MCP client: it removes invalid tools from a list, because
 * the client refuses a whole list for one invalid tool, and replaces a result with a very long list by an error.
 * Invariant: a valid tool stays unchanged, and each removed tool is reported. A tool is checked for depth before
 * anything recurses into it. The client describes every invalid item of a list, so longer lists would hold the process.
 */
import { isJSONRPCResultResponse, isSpecType, type JSONRPCMessage } from "@modelcontextprotocol/client";
import type { Json } from "@turnstream/protocol";
import { isTooDeep } from "./input-schema.ts";

/** Longer names don't occur, and the journal stores each name. */
const MAX_NAME_CHARS = 256;
const MAX_ITEMS = 1_000;
const INTERNAL_ERROR = -32_603;
/** The client takes the values of these fields as they are. */
const FREE_FIELDS: ReadonlySet<string> = new Set(["structuredContent", "_meta", "properties"]);

export type ReportTool = (tool: string, why: string) => void;

/** Changes the message in place. Only results of `tools/list` have a list named `tools`. */
export function checkResult(message: JSONRPCMessage, report: ReportTool): void {
  if (!isJSONRPCResultResponse(message)) return;
  const result = message.result as { tools?: unknown };
  if (hasLongList(result)) {
    const error = { code: INTERNAL_ERROR, message: `TOO_LARGE: a list of more than ${MAX_ITEMS} items` };
    Reflect.deleteProperty(message, "result");
    Object.assign(message, { error });
    return;
  }
  if (!Array.isArray(result.tools)) return;
  result.tools = result.tools.filter((tool: unknown, n) => {
    const problem = findProblem(tool);
    if (problem !== null)
      report(nameOf(tool) ?? `number ${n + 1}`, `the tool is left out, because ${problem}`);
    return problem === null;
  });
}

/** A list of tools may be long, because each tool is checked by itself. */
function hasLongList(result: { readonly tools?: unknown }): boolean {
  const rest: unknown[] = [result];
  for (let value = rest.pop(); value !== undefined; value = rest.pop()) {
    if (typeof value !== "object" || value === null) continue;
    if (Array.isArray(value)) {
      if (value.length > MAX_ITEMS && value !== result.tools) return true;
      for (const item of value as unknown[]) rest.push(item);
    } else for (const [key, field] of Object.entries(value)) if (!FREE_FIELDS.has(key)) rest.push(field);
  }
  return false;
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
