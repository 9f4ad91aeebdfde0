/** Who answers, with the mark of this page: one part of the thread put in the place of another. */
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
