/**
 * A call and its result as one line that opens to both (U01–U03). What people must see doesn't fold away: approvals,
 * artifacts, and a sub-agent that waits for somebody.
 */
import { isPending, toolLabel, type ToolItem } from "@turnstream/protocol";
import { type ReactNode, useState } from "react";
import type { BlockProps } from "../components.ts";
import { useThreadContext } from "../context.ts";
import { formatNumber } from "../format.ts";
import { useToolCall } from "../hooks/use-turn.ts";
import { useExpanded } from "../hooks/use-expanded.ts";
import { useStoreSelector } from "../hooks/use-session-selector.ts";
import { ErrorBoundary } from "../ui/error-boundary.tsx";
import { Disclosure } from "../ui/disclosure.tsx";
import { StatusDot } from "../ui/status-dot.tsx";
import { RequestPanel, ResponsePanel } from "./tool-panels.tsx";

export function ToolCall({ turnId, blockIndex }: BlockProps): ReactNode {
  const { ApprovalCard, Artifact, SubAgent } = useThreadContext().components;
  const item = useToolCall(turnId, blockIndex);
  // Open if it ran when it was first seen here; it doesn't shut under the reader's eyes, and is shut in history.
  const [wasRunning] = useState(item?.status === "pending");
  const [isExpanded, toggle] = useExpanded(turnId, blockIndex, wasRunning && !isShownElsewhere(item));
  const runId = item?.run?.id ?? null;
  const isRunWaiting = useStoreSelector(
    `turn:${turnId}`,
    (store) =>
      runId !== null &&
      store.getLayout(turnId, runId).some((entry) => entry.type === "block" && entry.needsUser),
  );
  if (item === null) return null;
  const head = (
    <>
      <StatusDot dot={item.status} />
      <span className="ts-tool-label" dir="auto">
        {toolLabel(item.call)}
      </span>
      <ToolNote item={item} />
    </>
  );
  return (
    <div className="ts-step" data-dot={item.status}>
      <Disclosure className="ts-tool" isExpanded={isExpanded} onToggle={toggle} head={head} hasArrow={false}>
        <RequestPanel item={item} />
        {runId !== null && <SubAgent turnId={turnId} runId={runId} />}
        <ResponsePanel item={item} />
      </Disclosure>
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

/** What it draws takes the place of how it was made; a card that asks shows the same arguments. */
function isShownElsewhere(item: ToolItem | null): boolean {
  return item !== null && (item.artifact !== null || item.approvals.some(isPending));
}

const MAX_NOTE_CHARS = 48;

/** A word on the result, where it fits beside the label. */
function ToolNote({ item }: { readonly item: ToolItem }): ReactNode {
  const { strings } = useThreadContext();
  const { result, resultText, isError } = item;
  const found = result?.results ?? null;
  if (found !== null && !isError)
    return <span className="ts-note">{strings.thread.results(formatNumber(strings, found))}</span>;
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
