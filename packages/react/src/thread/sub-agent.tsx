/** What a sub-agent does, inside the call that started it. */
import type { ReactNode } from "react";
import type { RunProps } from "../components.ts";
import { useShared } from "../context.ts";
import { useAgentName } from "../hooks/use-names.ts";
import { useOutline, useRun } from "../hooks/use-turn.ts";
import { Entries } from "./turn-items.tsx";

export function SubAgent({ turn, run }: RunProps): ReactNode {
  const { strings } = useShared();
  const found = useRun(turn, run);
  const outline = useOutline(turn, run);
  const name = useAgentName(found?.agent ?? "");
  if (found === null || outline.length === 0) return null;
  return (
    <div className="ts-sub" role="group" aria-label={strings.thread.subAgent(found.label ?? name)}>
      <Entries turn={turn} outline={outline} />
    </div>
  );
}
