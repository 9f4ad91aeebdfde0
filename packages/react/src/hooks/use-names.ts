/**
 * `useAgentName` returns the configured name of an agent, or a name derived from its id. `useArgumentName` does the same
 * for an argument of a tool, and `useUserName` returns the name of a user.
 * Invariant: a user without a configured name is never named, because an id means nothing to a reader.
 */
import { toolLabel } from "@turnstream/protocol";
import { useThreadContext } from "../context.ts";

export function useAgentName(agentId: string): string {
  return formatName(useThreadContext().agentNames, agentId);
}

/** Returns a function that converts `max_price` to its configured name, or to “Max price”. */
export function useArgumentName(): (argument: string) => string {
  const { argumentNames } = useThreadContext();
  return (argument) => formatName(argumentNames, argument);
}

export function formatName(names: Readonly<Record<string, string>>, id: string): string {
  return Object.hasOwn(names, id) ? (names[id] ?? "") : toolLabel({ label: "", name: id }) || id;
}

/** Returns the display name of a user; "" if none is configured. */
export function useUserName(id: string | null): string {
  const { userNames } = useThreadContext();
  return id !== null && Object.hasOwn(userNames, id) ? (userNames[id] ?? "") : "";
}
