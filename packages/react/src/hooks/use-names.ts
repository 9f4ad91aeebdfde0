/** What people call an agent: the name a team gave, or words made from its id. */
import { toolLabel } from "@turnstream/protocol";
import { useShared } from "../context.ts";

export function useAgentName(agent: string): string {
  return agentName(useShared().agents, agent);
}

export function agentName(names: Readonly<Record<string, string>>, agent: string): string {
  return Object.hasOwn(names, agent) ? (names[agent] ?? "") : toolLabel({ label: "", name: agent });
}

/** What a person is called, by id; "" for who has no name here. */
export function usePersonName(id: string | null): string {
  const { people } = useShared();
  return id !== null && Object.hasOwn(people, id) ? (people[id] ?? "") : "";
}
