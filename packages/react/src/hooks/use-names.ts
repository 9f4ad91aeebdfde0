/** What people call an agent: the name a team gave, or words made from its id. */
import { toolLabel } from "@turnstream/protocol";
import { useThreadContext } from "../context.ts";

export function useAgentName(agentId: string): string {
  return formatAgentName(useThreadContext().agentNames, agentId);
}

export function formatAgentName(names: Readonly<Record<string, string>>, agentId: string): string {
  return Object.hasOwn(names, agentId) ? (names[agentId] ?? "") : toolLabel({ label: "", name: agentId });
}

/** What a person is called, by id; "" for who has no name here. */
export function useUserName(id: string | null): string {
  const { userNames } = useThreadContext();
  return id !== null && Object.hasOwn(userNames, id) ? (userNames[id] ?? "") : "";
}
