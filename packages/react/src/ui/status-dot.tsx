/**
 * `StatusDot` shows the status of a call (requirement U02): amber while it runs or waits for the user, green, red or
 * grey, with a text for screen readers. Only a running call spins.
 * Invariant: the color is never the only sign. The values of `data-dot` match the styles and the keys of `toolStatus`
 * in the strings.
 */
import type { ToolStatus } from "@turnstream/protocol";
import type { ReactNode } from "react";
import { useStrings } from "../hooks/use-strings.ts";

export interface StatusDotProps {
  readonly status: ToolStatus | "waiting";
  /** For screen readers. @default the text of the status */
  readonly text?: string;
}

export function StatusDot({ status, text }: StatusDotProps): ReactNode {
  const strings = useStrings();
  return (
    <span className="ts-dot" data-dot={status}>
      <span className="ts-sr">{text ?? strings.thread.toolStatus[status]}</span>
    </span>
  );
}
