/**
 * `ToolsOf` gives a page the types of the tools that a server defines with `tool()`. Types only: a page imports the
 * agent with `import type`, so no code of the server reaches it.
 * Invariant: the names `~tools` and `~types` exist only in types. They match those of `defineAgent` and `tool` of
 * `@turnstream/server`.
 */

/** The types of one tool. */
export interface ToolTypes<Input = unknown, Output = unknown> {
  /** The arguments, as the model writes them. */
  readonly input: Input;
  /** What the schema `output` of the tool accepts; unknown without one. */
  readonly output: Output;
}

/** Carries the types of a tool. */
export interface WithToolTypes<Input, Output> {
  readonly "~types"?: ToolTypes<Input, Output>;
}

/** Carries the tools of an agent. */
export interface WithTools<Tools> {
  readonly "~tools"?: Tools;
}

/**
 * The types of the tools of an agent, by name.
 * @example
 * import type { agent } from "../server/agent.ts";
 * type Output = ToolsOf<typeof agent>["place_order"]["output"];
 */
export type ToolsOf<Agent> =
  Agent extends WithTools<infer Tools> ? { readonly [Name in keyof Tools]: TypesOf<Tools[Name]> } : never;

/** A tool without types has unknown ones. */
type TypesOf<Tool> = Tool extends { readonly "~types"?: infer Types }
  ? NonNullable<Types> extends ToolTypes
    ? NonNullable<Types>
    : ToolTypes
  : ToolTypes;
