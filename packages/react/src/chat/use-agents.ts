/**
 * `useAgents` loads the agents that the user can choose from.
 * Invariant: without them the chat works as before, so a failed load shows no error and is not retried.
 */
import type { AgentInfo, Client } from "@turnstream/client";
import { useEffect, useState } from "react";

const NO_AGENTS: readonly AgentInfo[] = [];

/** @param isNeeded false if the app has chosen the agent, or before the user is signed in */
export function useAgents(client: Pick<Client, "listAgents">, isNeeded: boolean): readonly AgentInfo[] {
  const [agents, setAgents] = useState(NO_AGENTS);
  useEffect(() => {
    if (!isNeeded) return undefined;
    let isCurrent = true;
    client.listAgents().then(
      (list) => isCurrent && setAgents(list),
      () => {},
    );
    return () => {
      isCurrent = false;
    };
  }, [client, isNeeded]);
  return isNeeded ? agents : NO_AGENTS;
}
