/**
 * `ToolCall` shows a call and its result as one line that expands to both (requirements U01–U03).
 * The component of an app for this tool replaces the line.
 * Invariant: approvals, artifacts and a sub-agent that needs the user stay visible when it is collapsed, and below the
 * component of an app.
 */
import { isPending, toolLabel, type ToolItem } from "@turnstream/protocol";
import { type ReactNode, useState } from "react";
import type { BlockProps } from "../components.ts";
import { useThreadContext } from "../context.ts";
import { useToolCall } from "../hooks/use-turn.ts";
import { useExpanded } from "../hooks/use-expanded.ts";
import { useStoreSelector } from "../hooks/use-session-selector.ts";
import { findOwn, type ToolProps } from "../own-components.ts";
import { ErrorBoundary } from "../ui/error-boundary.tsx";
import { Disclosure } from "../ui/disclosure.tsx";
import { StatusDot } from "../ui/status-dot.tsx";
import { usePart } from "../parts.tsx";
import { lazyCards } from "../cards/lazy-cards.ts";
import { lazyPart } from "../lazy-parts.tsx";

const RequestPanel = lazyPart(lazyCards, (parts) => parts.RequestPanel);
const ResponsePanel = lazyPart(lazyCards, (parts) => parts.ResponsePanel);

export function ToolCall({ turnId, blockIndex }: BlockProps): ReactNode {
  const { components, tools } = useThreadContext();
  const { ApprovalCard, Artifact, SubAgent } = components;
  const item = useToolCall(turnId, blockIndex);
  // Expanded if the call was running when it was first shown here. It doesn't collapse while the user reads, and it is
  // collapsed in history.
  const [wasRunning] = useState(item?.status === "pending");
  const Own = findOwn(tools, item?.call.name ?? "");
  const isExpandedAtFirst = wasRunning && Own === undefined && !isShownElsewhere(item);
  const [isExpanded, toggle] = useExpanded(turnId, blockIndex, isExpandedAtFirst);
  const runId = item?.run?.id ?? null;
  const isRunWaiting = useStoreSelector(
    `turn:${turnId}`,
    (store) =>
      runId !== null &&
      store.getLayout(turnId, runId).some((entry) => entry.type === "block" && entry.needsUser),
  );
  const root = usePart("tool-call", "ts-step");
  if (item === null) return null;
  const head = (
    <>
      <StatusDot status={item.status} />
      <span className={isWorking(item) ? "ts-tool-label ts-shimmer" : "ts-tool-label"} dir="auto">
        {toolLabel(item.call)}
      </span>
      <ToolNote item={item} />
    </>
  );
  const line = (
    <Disclosure className="ts-tool" isExpanded={isExpanded} onToggle={toggle} head={head} hasArrow={false}>
      <RequestPanel item={item} />
      {runId !== null && <SubAgent turnId={turnId} runId={runId} />}
      <ResponsePanel item={item} />
    </Disclosure>
  );
  const { status, input, output, resultText } = item;
  const own = { turnId, blockIndex, label: toolLabel(item.call), status, input, output, resultText };
  return (
    <div {...root} data-dot={status}>
      {Own === undefined ? (
        line
      ) : (
        <ErrorBoundary>
          <Own {...(own as unknown as ToolProps<never>)}>{line}</Own>
        </ErrorBoundary>
      )}
      {!isExpanded && isRunWaiting && runId !== null && <SubAgent turnId={turnId} runId={runId} />}
      {item.approvals.map((approval) => (
        <ErrorBoundary key={approval.id}>
          <ApprovalCard turnId={turnId} blockIndex={approval.index} />
        </ErrorBoundary>
      ))}
      {item.artifact !== null && (
        <ErrorBoundary>
          <Artifact artifact={item.artifact} />
        </ErrorBoundary>
      )}
    </div>
  );
}

/** A call that waits for an approval does not run yet. */
function isWorking(item: ToolItem): boolean {
  return item.status === "pending" && !item.approvals.some(isPending);
}

/** An artifact replaces the details of the call, and a pending approval card shows the same arguments. */
function isShownElsewhere(item: ToolItem | null): boolean {
  return item !== null && (item.artifact !== null || item.approvals.some(isPending));
}

const MAX_NOTE_CHARS = 48;

/** Shows a short result next to the label. */
function ToolNote({ item }: { readonly item: ToolItem }): ReactNode {
  const { strings } = useThreadContext();
  const { result, resultText, isError } = item;
  const found = result?.results ?? null;
  if (found !== null && !isError) return <span className="ts-note">{strings.thread.results(found)}</span>;
  const line = resultText?.trim().split("\n", 1)[0] ?? "";
  const isWord = line !== "" && !/^[[{<]/.test(line);
  if (!isWord) return null;
  if (isError)
    return (
      <span className="ts-note ts-fail" dir="auto">
        {line}
      </span>
    );
  return line.length <= MAX_NOTE_CHARS ? (
    <span className="ts-note" dir="auto">
      {line}
    </span>
  ) : null;
}
