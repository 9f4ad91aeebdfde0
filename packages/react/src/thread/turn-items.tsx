/**
 * `TurnItems` renders the layout of a turn: each block with its component, each group as one item. `SubAgent` renders
 * the layout of a run.
 * Invariant: an item re-renders only when it changes, and a render error stays inside its item. The key of an item is
 * its block index, which never changes.
 */
import { memo, type ReactNode } from "react";
import type { TurnLayout, BlockComponentName } from "@turnstream/client/view";
import type { RunProps } from "../components.ts";
import { CallPlaceContext, useThreadParts } from "../context.ts";
import { useAgentName } from "../hooks/use-names.ts";
import { useTurnLayout, useRun } from "../hooks/use-turn.ts";
import { ErrorBoundary } from "../ui/error-boundary.tsx";
import { usePart } from "../parts.tsx";
import { useStrings } from "../hooks/use-strings.ts";

export interface TurnItemsProps {
  readonly turnId: string;
  readonly layout: TurnLayout;
}

export function TurnItems({ turnId, layout }: TurnItemsProps): ReactNode {
  return layout.map((item) => (
    <TurnItem
      key={item.blockIndex}
      turnId={turnId}
      blockIndex={item.blockIndex}
      component={item.type === "group" ? "StepGroup" : item.component}
    />
  ));
}

interface TurnItemProps {
  readonly turnId: string;
  readonly blockIndex: number;
  readonly component: BlockComponentName | "StepGroup";
}

export const TurnItem = memo(function TurnItem({ turnId, blockIndex, component }: TurnItemProps): ReactNode {
  const Component = useThreadParts().components[component];
  return (
    <ErrorBoundary>
      <Component turnId={turnId} blockIndex={blockIndex} />
    </ErrorBoundary>
  );
});

/** The work of a sub-agent, inside the call that started it. */
export function SubAgent({ turnId, runId }: RunProps): ReactNode {
  const strings = useStrings();
  const run = useRun(turnId, runId);
  const layout = useTurnLayout(turnId, runId);
  const name = useAgentName(run?.agent ?? "");
  const root = usePart("sub-agent", "ts-sub");
  if (run === null || layout.length === 0) return null;
  return (
    <div {...root} role="group" aria-label={strings.thread.subAgent(run.label ?? name)}>
      <CallPlaceContext.Provider value="run">
        <TurnItems turnId={turnId} layout={layout} />
      </CallPlaceContext.Provider>
    </div>
  );
}
