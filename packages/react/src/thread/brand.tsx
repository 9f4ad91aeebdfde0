/** Who answers: above the first block of a turn, and nowhere else (U06). */
import type { ReactNode } from "react";
import type { BrandProps } from "../components.ts";
import { useAgentName } from "../hooks/use-names.ts";

export function Brand({ agent }: BrandProps): ReactNode {
  return (
    <div className="ts-brand">
      <span className="ts-brand-mark" aria-hidden="true" />
      <span>{useAgentName(agent)}</span>
    </div>
  );
}
