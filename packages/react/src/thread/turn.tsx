/**
 * `Turn` shows one turn: the message that it answers, the agent, and the items of the answer.
 * Invariant: the agent's name appears once, and only with the first visible block (requirement U06). "Working" appears
 * only if nothing else shows that the turn runs. `useHistory` finds a turn by `data-turn`.
 */
import { memo, type ReactNode } from "react";
import { firstVisibleBlock, listPendingInteractions, type Turn as TurnState } from "@turnstream/protocol";
import type { AgentHeaderProps, TurnProps } from "../components.ts";
import { useThreadParts } from "../context.ts";
import { useAgentName } from "../hooks/use-names.ts";
import { useTurnLayout, useTurnSelector } from "../hooks/use-turn.ts";
import { ErrorBoundary } from "../ui/error-boundary.tsx";
import { TurnItems } from "./turn-items.tsx";
import { Slot, usePart } from "../parts.tsx";
import { useStrings } from "../hooks/use-strings.ts";

export const Turn = memo(function Turn({ turnId }: TurnProps): ReactNode {
  const strings = useStrings();
  const { components } = useThreadParts();
  const layout = useTurnLayout(turnId);
  const messageId = useTurnSelector(turnId, (turn) => turn?.message?.id ?? null);
  const agentId = useTurnSelector(turnId, (turn) => turn?.agent ?? "");
  const isRunning = useTurnSelector(turnId, (turn) => turn?.status === "running");
  const hasHeader = useTurnSelector(turnId, (turn) => turn !== null && firstVisibleBlock(turn) !== null);
  const last = layout.at(-1);
  const isBetween =
    useTurnSelector(turnId, isBetweenBlocks) && !(last?.type === "group" && last.isRunning && last.hasHeader);
  const working = usePart("working", "ts-working");
  return (
    <article {...usePart("turn", "ts-turn")} data-turn={turnId} data-running={isRunning || undefined}>
      {messageId !== null && (
        <ErrorBoundary>
          <components.UserMessage messageId={messageId} turnId={turnId} />
        </ErrorBoundary>
      )}
      {hasHeader && <components.AgentHeader agentId={agentId} />}
      <TurnItems turnId={turnId} layout={layout} />
      {isBetween && (
        <div {...working}>
          <span className="ts-shimmer">{strings.thread.working}</span>
        </div>
      )}
      <Slot name="TurnEnd" turnId={turnId} />
    </article>
  );
});

/** Returns true if the turn runs but no block shows it: none is open, and no interaction is pending. */
function isBetweenBlocks(turn: TurnState | null): boolean {
  if (turn?.status !== "running" || turn.open > 0) return false;
  const last = turn.items.last();
  if (last?.kind === "notice") return false;
  return listPendingInteractions(turn).length === 0;
}

/** Shows the name of the agent, only above the first block of a turn (requirement U06). */
export function AgentHeader({ agentId }: AgentHeaderProps): ReactNode {
  const name = useAgentName(agentId);
  return (
    <div {...usePart("agent-header", "ts-brand")}>
      <span
        className="ts-brand-mark"
        aria-hidden="true"
        data-initial={String.fromCodePoint(name.codePointAt(0) ?? 32)}
      />
      <span>{name}</span>
    </div>
  );
}
