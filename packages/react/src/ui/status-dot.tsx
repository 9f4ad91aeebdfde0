/** How a call stands (U02): amber and turning, green, red or grey; in words for who can't see it. */
import type { ToolStatus as Dot } from "@turnstream/protocol";
import type { ReactNode } from "react";
import { useThreadContext } from "../context.ts";

export function StatusDot({ dot }: { readonly dot: Dot }): ReactNode {
  const { strings } = useThreadContext();
  return (
    <span className="ts-dot" data-dot={dot}>
      <span className="ts-sr">{strings.thread.toolStatus[dot]}</span>
    </span>
  );
}
