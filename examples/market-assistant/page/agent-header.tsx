/** `AgentHeader` replaces the thread's agent header with one that has the logo of this page. */
import { type AgentHeaderProps, useAgentName } from "@turnstream/react";
import type { ReactNode } from "react";

export function AgentHeader({ agentId }: AgentHeaderProps): ReactNode {
  return (
    <div className="ts-brand">
      <span className="ma-mark" aria-hidden="true" />
      <span>{useAgentName(agentId)}</span>
    </div>
  );
}
