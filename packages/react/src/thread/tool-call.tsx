/**
 * A call and its result as one line that opens to both (U01–U03). What people must see doesn't fold away: approvals,
 * artifacts, and a sub-agent that waits for somebody.
 */
import { isPending, toolLabel, type ToolItem } from "@turnstream/protocol";
import { type ReactNode, useState } from "react";
import type { BlockProps } from "../components.ts";
import { useShared } from "../context.ts";
import { formatNumber } from "../format.ts";
import { useTool } from "../hooks/use-turn.ts";
import { useOpen } from "../hooks/use-expanded.ts";
import { useStore } from "../hooks/use-session-selector.ts";
import { Boundary } from "../ui/error-boundary.tsx";
import { Disclosure } from "../ui/disclosure.tsx";
import { StatusDot } from "../ui/status-dot.tsx";
import { RequestPanel, ResponsePanel } from "./tool-panels.tsx";

export function ToolCall({ turn, index }: BlockProps): ReactNode {
  const { ApprovalCard, Artifact, SubAgent } = useShared().components;
  const item = useTool(turn, index);
  // Open if it ran when it was first seen here; it doesn't shut under the reader's eyes, and is shut in history.
  const [wasRunning] = useState(item?.status === "pending");
  const [isOpen, toggle] = useOpen(turn, index, wasRunning && !isShownOtherwise(item));
  const run = item?.run?.id ?? null;
  const isRunWaiting = useStore(
    `turn:${turn}`,
    (store) =>
      run !== null && store.getLayout(turn, run).some((entry) => entry.type === "block" && entry.needsUser),
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
      <Disclosure className="ts-tool" isOpen={isOpen} onToggle={toggle} head={head} hasArrow={false}>
        <RequestPanel item={item} />
        {run !== null && <SubAgent turn={turn} run={run} />}
        <ResponsePanel item={item} />
      </Disclosure>
      {!isOpen && isRunWaiting && run !== null && <SubAgent turn={turn} run={run} />}
      {item.approvals.map((approval) => (
        <Boundary key={approval.id}>
          <ApprovalCard turn={turn} index={approval.index} />
        </Boundary>
      ))}
      {item.artifact !== null && (
        <Boundary>
          <Artifact artifact={item.artifact} />
        </Boundary>
      )}
    </div>
  );
}

/** What it draws takes the place of how it was made; a card that asks shows the same arguments. */
function isShownOtherwise(item: ToolItem | null): boolean {
  return item !== null && (item.artifact !== null || item.approvals.some(isPending));
}

const SHORT = 48;

/** A word on the result, where it fits beside the label. */
function ToolNote({ item }: { readonly item: ToolItem }): ReactNode {
  const { strings } = useShared();
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
  return line.length <= SHORT ? (
    <span className="ts-note" dir="auto">
      {line}
    </span>
  ) : null;
}
