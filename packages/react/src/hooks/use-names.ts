/**
 * `useAgentName` returns the configured name of an agent, or a name derived from its id. `useArgumentName` does the same
 * for an argument of a tool, and `useUserName` returns the name of a user.
 * Invariant: a user without a configured name is never named, because an id means nothing to a reader.
 */
import { toolLabel } from "@turnstream/protocol";
import { useThreadContext } from "../context.ts";

/** Display names by id: a record, or a function that returns undefined for an unknown id. */
export type Names = Readonly<Record<string, string>> | ((id: string) => string | undefined);

function findName(names: Names, id: string): string | undefined {
  if (typeof names === "function") return names(id);
  return Object.hasOwn(names, id) ? names[id] : undefined;
}

export function useAgentName(agentId: string): string {
  return formatName(useThreadContext().agentNames, agentId);
}

/** Returns a function that converts `max_price` to its configured name, or to “Max price”. */
export function useArgumentName(): (argument: string) => string {
  const { argumentNames } = useThreadContext();
  return (argument) => formatName(argumentNames, argument);
}

export function formatName(names: Names, id: string): string {
  return findName(names, id) ?? (toolLabel({ label: "", name: id }) || id);
}

/** Returns the display name of a user; "" if none is configured. */
export function useUserName(id: string | null): string {
  const { userNames } = useThreadContext();
  return id === null ? "" : (findName(userNames, id) ?? "");
}
