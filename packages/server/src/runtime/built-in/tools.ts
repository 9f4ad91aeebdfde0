/**
 * `builtInTools` creates the built-in tools that its options enable, under their names on the wire. A developer spreads
 * them beside their own tools: `tools: { ...builtInTools({ memory: true }), mine }`.
 *
 * Invariant: a tool exists only if its option is given. `Names` must list the same tools as the function returns.
 * `call_agent`, `request_form` and `ask_user_question` are options of the agent: they do more than a
 * tool can. `@turnstream/tools` has tools that make requests.
 */
import type { Tool } from "../define/tool.ts";
import { type KnowledgeOptions, knowledgeTools } from "./knowledge.ts";
import { lookupHistoryTool } from "./lookup-history.ts";
import { type MemoryOptions, memoryTool } from "./memory.ts";

export interface BuiltInOptions {
  /** `memory`: what the agent remembers about the user across sessions. @default false */
  readonly memory?: boolean | MemoryOptions;
  /** `lookup_history`: earlier turns of the session. @default false */
  readonly lookupHistory?: boolean;
  /** `retrieve_context_objs` and `get_context_obj_lines`: the tenant's knowledge bases. */
  readonly knowledge?: KnowledgeOptions;
}

/** The tool names that each option adds. */
interface Names {
  memory: "memory";
  lookupHistory: "lookup_history";
  knowledge: "retrieve_context_objs" | "get_context_obj_lines";
}

/** The tools that options enable, as typed properties, so that a developer can pick and change one. */
export type EnabledTools<Options, NameOf extends Record<keyof NameOf, string>> = Record<string, Tool> & {
  readonly [
    Option in keyof Options & keyof NameOf as Options[Option] extends object | true ? NameOf[Option] : never
  ]: Tool;
};

export function builtInTools<const Options extends BuiltInOptions>(
  options: Options,
): EnabledTools<Options, Names>;
export function builtInTools({ memory = false, ...options }: BuiltInOptions): Record<string, Tool> {
  return {
    ...(memory === false ? {} : { memory: memoryTool(memory === true ? {} : memory) }),
    ...(options.lookupHistory === true ? { lookup_history: lookupHistoryTool() } : {}),
    ...(options.knowledge === undefined ? {} : knowledgeTools(options.knowledge)),
  };
}
