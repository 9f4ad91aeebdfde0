/**
 * `ToolCall` shows a tool call, its result, its approvals and its artifacts as one item (requirements U01–U03). The
 * component of an app for this tool replaces the line of the call.
 * Invariant: approvals, artifacts and a sub-agent that needs the user stay visible when the line is collapsed, and below
 * the component of an app. In a group, the artifacts are below the group.
 *
 *   outside of groups:   running (expanded) ──▶ ended ──300 ms──▶ collapsed     the user's click overrides this
 */
import { toolLabel } from "@turnstream/protocol";
import { type ReactNode, useContext } from "react";
import type { BlockProps } from "../components.ts";
import { CallPlaceContext, useThreadContext, useThreadParts } from "../context.ts";
import { useToolCall } from "../hooks/use-turn.ts";
import { useExpanded, useWhile } from "../hooks/use-expanded.ts";
import { useStoreSelector } from "../hooks/stores.ts";
import { findOwn } from "../own-components.ts";
import { ErrorBoundary } from "../ui/error-boundary.tsx";
import { usePart } from "../parts.tsx";
import { lazyCards } from "../cards/lazy-cards.ts";
import { isAsking, listArtifacts, opensByItself } from "./call-rules.ts";

/** Until its chunk is loaded, the line is its label. */
const CallLine = lazyCards.part(
  (parts) => parts.CallLine,
  ({ item }) => <div className="ts-line">{toolLabel(item.call)}</div>,
);

export function ToolCall({ turnId, blockIndex }: BlockProps): ReactNode {
  const { tools, toolDetails } = useThreadContext();
  const { ApprovalCard, SubAgent } = useThreadParts().components;
  const place = useContext(CallPlaceContext);
  const item = useToolCall(turnId, blockIndex);
  const Own = findOwn(tools, item?.call.name ?? "");
  const opens = item !== null && Own === undefined && opensByItself(item, place, toolDetails);
  const isOpenByItself = useWhile(opens);
  const [isExpanded, onToggle] = useExpanded(turnId, blockIndex, isOpenByItself);
  const runId = item?.run?.id ?? null;
  const isRunWaiting = useStoreSelector(
    `turn:${turnId}`,
    (store) =>
      runId !== null &&
      store.getLayout(turnId, runId).some((entry) => entry.type === "block" && entry.needsUser),
  );
  const root = usePart("tool-call", "ts-step");
  if (item === null) return null;
  const { status, input, output, resultText } = item;
  const label = toolLabel(item.call);
  const line = <CallLine {...{ turnId, item, isExpanded, isOpenByItself, onToggle, isRunWaiting }} />;
  return (
    <div {...root} data-dot={status}>
      {Own !== undefined ? (
        <ErrorBoundary>
          <Own {...{ turnId, blockIndex, label, status, input, output, resultText }}>{line}</Own>
        </ErrorBoundary>
      ) : (
        // The card of an approval shows the same label, and the arguments.
        !isAsking(item) && line
      )}
      {!isExpanded && isRunWaiting && runId !== null && <SubAgent turnId={turnId} runId={runId} />}
      {item.approvals.map((approval) => (
        <ErrorBoundary key={approval.id}>
          <ApprovalCard turnId={turnId} blockIndex={approval.index} />
        </ErrorBoundary>
      ))}
      {place !== "group" && <CallArtifacts turnId={turnId} blockIndex={blockIndex} />}
    </div>
  );
}

export function CallArtifacts({ turnId, blockIndex }: BlockProps): ReactNode {
  const { Artifact } = useThreadParts().components;
  const item = useToolCall(turnId, blockIndex);
  if (item === null) return null;
  return listArtifacts(item).map((artifact, n) => (
    // Artifacts never move, so their index is their identity.
    <ErrorBoundary key={n}>
      <Artifact artifact={artifact} />
    </ErrorBoundary>
  ));
}
