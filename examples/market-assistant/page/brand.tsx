/** Who answers, with the mark of this page: one part of the thread put in the place of another. */
import { type BrandProps, useAgentName } from "@turnstream/react";
import type { ReactNode } from "react";

export function Brand({ agent }: BrandProps): ReactNode {
  return (
    <div className="ts-brand">
      <span className="ma-mark" aria-hidden="true" />
      <span>{useAgentName(agent)}</span>
    </div>
  );
}
