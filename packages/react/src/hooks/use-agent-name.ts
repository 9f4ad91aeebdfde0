/** What people call an agent: the name a team gave, or words made from its id. */
import { labelOf } from "@turnstream/protocol";
import { useShared } from "../context.ts";

export function useAgentName(agent: string): string {
  return agentName(useShared().agents, agent);
}

export function agentName(names: Readonly<Record<string, string>>, agent: string): string {
  return Object.hasOwn(names, agent) ? (names[agent] ?? "") : labelOf({ label: "", name: agent });
}
