/**
 * `useAgentName` returns the configured name of an agent, or a name derived from its id. `useUserName` returns the name
 * of a user.
 * Invariant: a user without a configured name is never named, because an id means nothing to a reader.
 */
import { toolLabel } from "@turnstream/protocol";
import type { Names } from "../components.ts";
import { useThreadContext } from "../context.ts";

export function findName(names: Names, id: string): string | undefined {
  if (typeof names === "function") return names(id);
  return Object.hasOwn(names, id) ? names[id] : undefined;
}

export function useAgentName(agentId: string): string {
  return formatName(useThreadContext().agentNames, agentId);
}

export function formatName(names: Names, id: string): string {
  return findName(names, id) ?? (toolLabel({ label: "", name: id }) || id);
}

/** Returns the display name of a user; "" if none is configured. */
export function useUserName(id: string | null): string {
  const { userNames } = useThreadContext();
  return id === null ? "" : (findName(userNames, id) ?? "");
}
