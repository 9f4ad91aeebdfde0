/**
 * `builtInTools` creates the built-in tools that its options enable, under their names on the wire. A developer spreads
 * them beside their own tools: `tools: { ...builtInTools({ memory: true }), mine }`.
 *
 * Invariant: a tool exists only if its option is given. `Names` must list the same tools as the function returns.
 * `call_agent`, `request_form` and `ask_user_question` are options of the agent: they do more than a
 * tool can. `@turnstream/tools` has tools that make requests, and `@turnstream/knowledge` those of knowledge bases.
 */
import type { Tool } from "../define/tool.ts";
import { lookupHistoryTool } from "./lookup-history.ts";
import { type MemoryOptions, memoryTool } from "./memory.ts";

export interface BuiltInOptions {
  /** `memory`: what the agent remembers about the user across sessions. @default false */
  readonly memory?: boolean | MemoryOptions;
  /** `lookup_history`: earlier turns of the session. @default false */
  readonly lookupHistory?: boolean;
}

/** The tool names that each option adds. */
interface Names {
  memory: "memory";
  lookupHistory: "lookup_history";
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
export function builtInTools({ memory = false, lookupHistory }: BuiltInOptions): Record<string, Tool> {
  return {
    ...(memory === false ? {} : { memory: memoryTool(memory === true ? {} : memory) }),
    ...(lookupHistory === true ? { lookup_history: lookupHistoryTool() } : {}),
  };
}
