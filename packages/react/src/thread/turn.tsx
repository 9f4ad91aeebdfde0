/** One turn: the message it answers, who answers, and what they did. */
import { memo, type ReactNode } from "react";
import { firstVisibleBlock, listPendingInteractions, type Turn as TurnState } from "@turnstream/protocol";
import type { BrandProps, TurnProps } from "../components.ts";
import { useShared } from "../context.ts";
import { useAgentName } from "../hooks/use-names.ts";
import { useOutline, useTurnPart } from "../hooks/use-turn.ts";
import { Boundary } from "../ui/error-boundary.tsx";
import { Entries } from "./turn-items.tsx";

export const Turn = memo(function Turn({ turn }: TurnProps): ReactNode {
  const { components, strings } = useShared();
  const { Brand, UserMessage } = components;
  const outline = useOutline(turn);
  const message = useTurnPart(turn, (found) => found?.message?.id ?? null);
  const agent = useTurnPart(turn, (found) => found?.agent ?? "");
  const isRunning = useTurnPart(turn, (found) => found?.status === "running");
  const hasBrand = useTurnPart(turn, (found) => found !== null && firstVisibleBlock(found) !== null);
  const isBetween = useTurnPart(turn, isBetweenSteps);
  return (
    <article className="ts-turn" data-turn={turn} data-running={isRunning || undefined}>
      {message !== null && (
        <Boundary>
          <UserMessage message={message} turn={turn} />
        </Boundary>
      )}
      {hasBrand && <Brand agent={agent} />}
      <Entries turn={turn} outline={outline} />
      {isBetween && (
        <div className="ts-working">
          <span className="ts-shimmer">{strings.thread.working}</span>
        </div>
      )}
    </article>
  );
});

/** It runs, and nothing on the screen shows it: no block is open, no group, and nobody is asked. */
function isBetweenSteps(turn: TurnState | null): boolean {
  if (turn?.status !== "running" || turn.open > 0 || turn.group !== null) return false;
  const last = turn.items.last();
  if (last?.kind === "notice") return false;
  return listPendingInteractions(turn).length === 0;
}

/** Who answers: above the first block of a turn, and nowhere else (U06). */
export function Brand({ agent }: BrandProps): ReactNode {
  return (
    <div className="ts-brand">
      <span className="ts-brand-mark" aria-hidden="true" />
      <span>{useAgentName(agent)}</span>
    </div>
  );
}
