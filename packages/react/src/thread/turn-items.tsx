/** Draws an outline: each step by its part, each group as one. An entry is drawn anew only when it is another. */
import { memo, type ReactNode } from "react";
import type { TurnLayout, BlockComponentName } from "@turnstream/client/view";
import type { RunProps } from "../components.ts";
import { useShared } from "../context.ts";
import { useAgentName } from "../hooks/use-names.ts";
import { useOutline, useRun } from "../hooks/use-turn.ts";
import { Boundary } from "../ui/error-boundary.tsx";

export interface EntriesProps {
  readonly turn: string;
  readonly outline: TurnLayout;
}

export function Entries({ turn, outline }: EntriesProps): ReactNode {
  return outline.map((entry) => (
    <Entry
      key={entry.blockIndex}
      turn={turn}
      index={entry.blockIndex}
      part={entry.type === "group" ? "StepGroup" : entry.component}
    />
  ));
}

interface EntryProps {
  readonly turn: string;
  readonly index: number;
  readonly part: BlockComponentName | "StepGroup";
}

export const Entry = memo(function Entry({ turn, index, part }: EntryProps): ReactNode {
  const Part = useShared().components[part];
  return (
    <Boundary>
      <Part turn={turn} index={index} />
    </Boundary>
  );
});

/** What a sub-agent does, inside the call that started it. */
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
