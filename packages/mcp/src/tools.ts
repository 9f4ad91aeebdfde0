/**
 * `toolsFrom` converts the tools of a server to tools of an agent. It selects the offered tools, cleans their
 * descriptions and runs their calls.
 * Invariant: the server is untrusted. Its texts are cleaned and bounded. A label names the server as the developer does
 * and the tool by its own name; the server's title is a separate field. Its annotations do not count, and no tool may run again after a crash.
 * Users never see its error text; the model gets it without secrets. Names in the options that match no tool are
 * reported, because a misspelled one would leave a tool without its approval.
 */
import type { Tool } from "@modelcontextprotocol/client";
import type { Json } from "@turnstream/protocol";
import {
  type Approval,
  type ApprovalContext,
  type SourceTool,
  tool as defineTool,
  type ToolContext,
} from "@turnstream/server";
import { cleanLine, cleanLines } from "./clean-text.ts";
import type { McpConnectionManager } from "./connection-manager.ts";
import type { McpServerOptions, McpToolOptions } from "./options.ts";
import { toToolError, toToolOutput } from "./tool-output.ts";
import { toInputSchema } from "./input-schema.ts";
import { defined } from "@turnstream/server/internal";

const MAX_LABEL = 100;
const MAX_DESCRIPTION = 8_000;

type Input = Readonly<Record<string, unknown>>;
type Manager = Pick<McpConnectionManager, "call" | "clean">;

/** @param report receives names in the options that match no tool */
export function toolsFrom(
  listed: readonly Tool[],
  options: McpServerOptions,
  manager: Manager,
  report: (tool: string, why: string) => void,
): Record<string, SourceTool> {
  const { include, exclude = [], approvals = {} } = options;
  for (const name of new Set([...(include ?? []), ...exclude, ...Object.keys(approvals)]))
    if (!listed.some((tool) => tool.name === name))
      report(name, "the options name this tool, but the server has no such tool");
  const offered = listed.filter(({ name, execution }) => {
    if (exclude.includes(name) || (include !== undefined && !include.includes(name))) return false;
    return execution?.taskSupport !== "required";
  });
  return Object.fromEntries(offered.map((tool) => [tool.name, toolFrom(tool, options, manager)]));
}

function toolFrom(listed: Tool, options: McpServerOptions, manager: Manager): SourceTool {
  const { name, description = "", inputSchema } = listed;
  const { $schema: _, ...schema } = inputSchema as Readonly<Record<string, Json>>;
  const server = cleanLine(options.label ?? options.name, MAX_LABEL);
  const label = cleanLine(`${server}: ${name}`, MAX_LABEL);
  const title = cleanLine(listed.title ?? listed.annotations?.title ?? "", MAX_LABEL);
  const made = defineTool({
    description: cleanLines(description, MAX_DESCRIPTION),
    label,
    input: toInputSchema(inputSchema as Json),
    run: (input, context) => run(manager, name, input as Input, context),
    approval: approvalOf(name, options),
    ...defined({ timeoutMs: options.timeoutMs }),
  });
  return { ...made, label, schema, server, ...(title === "" ? {} : { title }) };
}

async function run(manager: Manager, name: string, input: Input, context: ToolContext) {
  const result = await manager.call(name, input, context);
  // Only the model gets the server's error text. Users see that the tool failed, because the server's text is
  // untrusted.
  if (result.isError === true) throw new Error(manager.clean(toToolError(result)));
  return toToolOutput(result);
}

function approvalOf(name: string, { approval = false, approvals = {} }: McpToolOptions): Approval<unknown> {
  const chosen = Object.hasOwn(approvals, name) ? (approvals[name] ?? approval) : approval;
  if (typeof chosen !== "function") return chosen;
  return (input: unknown, context: ApprovalContext) => chosen(input as Input, { ...context, tool: name });
}
