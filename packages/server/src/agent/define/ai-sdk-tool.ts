/**
 * `resolveTools` turns the tools of an agent into Turnstream's: those of `tool()` stay as they are, and `fromAiSdkTool`
 * converts those of the AI SDK's own `tool()`.
 *
 * Invariant: a tool that can't behave here as it does in the AI SDK throws BAD_AGENT when the program starts, with what
 * to change. `AiSdkTool` names no type of the SDK, so that its updates don't break it.
 */
import { badAgent } from "../errors.ts";
import type { AiSdkSchema } from "../../models/tool-schema.ts";
import { type ExecuteContext, type Tool, tool } from "./tool.ts";
import { defined } from "../../util/defined.ts";

type AnyFunction<Result> = (input: never, options: never) => Result;

/** The parts of a tool of the AI SDK that decide how it runs. */
export interface AiSdkTool {
  readonly inputSchema: unknown;
  readonly type?: string | undefined;
  readonly description?: unknown;
  readonly title?: string | undefined;
  readonly execute?: AnyFunction<unknown> | undefined;
  readonly needsApproval?: boolean | AnyFunction<boolean | PromiseLike<boolean>> | undefined;
  readonly contextSchema?: unknown;
  readonly toModelOutput?: unknown;
  readonly onInputStart?: unknown;
  readonly onInputDelta?: unknown;
  readonly onInputAvailable?: unknown;
}

/** Fields without a counterpart, and what to do instead. */
const REFUSED = {
  contextSchema: "read the user and the session from the second argument of `execute`",
  toModelOutput: "define it with tool() of @turnstream/server, and return `content` and `blocks`",
  onInputStart: "remove it, or run the tool inside `defineStreamAgent`",
  onInputDelta: "remove it, or run the tool inside `defineStreamAgent`",
  onInputAvailable: "move its work to `execute`",
} as const satisfies Partial<Record<keyof AiSdkTool, string>>;

/** @param agent the agent's name, for errors */
export function resolveTools(
  agent: string,
  given: Readonly<Record<string, Tool | AiSdkTool>>,
): Readonly<Record<string, Tool>> {
  return Object.fromEntries(
    Object.entries(given).map(([name, component]) => {
      const of = `the tool ${name} of the agent ${agent}`;
      if (typeof component !== "object" || component === null)
        throw badAgent(`${of} must be created with tool()`);
      return [name, "run" in component ? component : fromAiSdkTool(of, component)];
    }),
  );
}

function fromAiSdkTool(of: string, given: AiSdkTool): Tool {
  const { type = "function", description = "", title, execute, needsApproval = false, inputSchema } = given;
  const fail = (what: string): never => {
    throw badAgent(`${of} ${what}`);
  };
  if (type === "provider")
    return fail("runs at the model provider: use it with `streamText` inside `defineStreamAgent`");
  if (type === "dynamic")
    return fail(
      "is a dynamic tool: define it with tool() and a schema, or list tools of MCP servers in `toolSources`",
    );
  if (type !== "function") return fail(`has the unknown type ${JSON.stringify(type)}: use tool()`);
  if (inputSchema === undefined)
    return fail("must be created with tool(): it has neither `run` nor `inputSchema`");
  if (typeof execute !== "function")
    return fail(
      "has no `execute`, so no worker can run it: add `execute`, or ask the user with `askUser` or `requestForms`",
    );
  if (typeof description !== "string") return fail("must have a text as `description`");
  for (const [field, remedy] of Object.entries(REFUSED))
    if (given[field as keyof typeof REFUSED] !== undefined)
      fail(`has \`${field}\`, which is not supported: ${remedy}`);
  return tool<unknown>({
    description,
    ...defined({ label: title }),
    inputSchema: inputSchema as AiSdkSchema<unknown>,
    approval:
      typeof needsApproval === "boolean"
        ? needsApproval
        : async (input, { call, messages }) =>
            needsApproval.call(given, input as never, { toolCallId: call, messages } as never),
    execute: async (input, context) => {
      const output = await readOutput(execute.call(given, input as never, context as never), context);
      // As the content, because an output of the AI SDK can have the fields of a `ToolOutput` by chance.
      return output === undefined ? "" : { content: output };
    },
  });
}

/** Returns the last value of a tool that yields several, and shows the texts before it as progress. */
async function readOutput(output: unknown, context: ExecuteContext): Promise<unknown> {
  const isIterable = typeof output === "object" && output !== null && Symbol.asyncIterator in output;
  if (!isIterable) return output;
  let last: unknown;
  for await (const value of output as AsyncIterable<unknown>) {
    if (typeof last === "string") context.progress(last);
    last = value;
  }
  return last;
}
