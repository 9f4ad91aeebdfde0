/** Draws an outline: each step by its part, each group as one. An entry is drawn anew only when it is another. */
import { memo, type ReactNode } from "react";
import { useShared } from "../context.ts";
import type { Outline, PartName } from "@turnstream/client/view";
import { Boundary } from "../ui/error-boundary.tsx";

export interface EntriesProps {
  readonly turn: string;
  readonly outline: Outline;
}

export function Entries({ turn, outline }: EntriesProps): ReactNode {
  return outline.map((entry) => (
    <Entry
      key={entry.index}
      turn={turn}
      index={entry.index}
      part={entry.type === "group" ? "StepGroup" : entry.part}
    />
  ));
}

interface EntryProps {
  readonly turn: string;
  readonly index: number;
  readonly part: PartName | "StepGroup";
}

export const Entry = memo(function Entry({ turn, index, part }: EntryProps): ReactNode {
  const Part = useShared().components[part];
  return (
    <Boundary>
      <Part turn={turn} index={index} />
    </Boundary>
  );
});
