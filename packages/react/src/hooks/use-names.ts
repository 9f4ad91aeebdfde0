/**
 * `useAgentName` returns the configured name of an agent, or a name derived from its id. `useUserName` returns the name
 * of a user.
 * Invariant: a user without a configured name is never named, because an id means nothing to a reader.
 */
import { toolLabel } from "@turnstream/protocol";
import { useThreadContext } from "../context.ts";

export function useAgentName(agentId: string): string {
  return formatAgentName(useThreadContext().agentNames, agentId);
}

export function formatAgentName(names: Readonly<Record<string, string>>, agentId: string): string {
  return Object.hasOwn(names, agentId) ? (names[agentId] ?? "") : toolLabel({ label: "", name: agentId });
}

/** Returns the display name of a user; "" if none is configured. */
export function useUserName(id: string | null): string {
  const { userNames } = useThreadContext();
  return id !== null && Object.hasOwn(userNames, id) ? (userNames[id] ?? "") : "";
}
