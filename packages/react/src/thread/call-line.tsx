/**
 * `CallLine` shows a tool call as one line: its status, its label, and a count or a preview of its result. The line
 * expands to the arguments, the steps of a sub-agent and the result (requirement U03).
 * Invariant: an open line doesn't repeat its result. While the line of a sub-agent is open by itself, only its steps are
 * shown, without its task: also in the moment between its end and the collapse.
 */
import { type ToolItem, toolLabel } from "@turnstream/protocol";
import type { ReactNode } from "react";
import { useThreadContext, useThreadParts } from "../context.ts";
import { Disclosure } from "../ui/disclosure.tsx";
import { StatusDot } from "../ui/status-dot.tsx";
import { callNote, callStatus } from "./call-note.ts";
import { RequestPanel, ResponsePanel } from "./tool-panels.tsx";
import { useStrings } from "../hooks/use-strings.ts";

export interface CallLineProps {
  readonly turnId: string;
  readonly item: ToolItem;
  readonly isExpanded: boolean;
  /** Whether it would be open without a click. */
  readonly isOpenByItself: boolean;
  readonly onToggle: () => void;
  /** Whether its sub-agent waits for the user. */
  readonly isRunWaiting: boolean;
}

export function CallLine({
  turnId,
  item,
  isExpanded,
  isOpenByItself,
  onToggle,
  isRunWaiting,
}: CallLineProps): ReactNode {
  const { toolDetails } = useThreadContext();
  const strings = useStrings();
  const { SubAgent } = useThreadParts().components;
  const runId = item.run?.id ?? null;
  const status = callStatus(item, isRunWaiting);
  const note = callNote(item, status, strings);
  const showsOnlySteps = runId !== null && (item.status === "pending" || isOpenByItself);
  const hasPanels = toolDetails === "open" || (toolDetails !== "hidden" && !showsOnlySteps);
  const head = (
    <>
      {/* The dot of a stopped call is red, as that of a failed one. */}
      <StatusDot
        status={status === "waiting" ? status : item.status}
        text={strings.thread.toolStatus[status]}
      />
      <span className={status === "pending" ? "ts-tool-label ts-shimmer" : "ts-tool-label"} dir="auto">
        {toolLabel(item.call)}
      </span>
      {note !== null && !(note.isResult && isExpanded) && (
        <span className={status === "error" ? "ts-note ts-fail" : "ts-note"} dir="auto">
          {note.text}
        </span>
      )}
    </>
  );
  return (
    <Disclosure
      className="ts-tool"
      isExpanded={isExpanded}
      onToggle={hasPanels || runId !== null ? onToggle : null}
      head={head}
      hasArrow={false}
    >
      {hasPanels && <RequestPanel item={item} />}
      {runId !== null && <SubAgent turnId={turnId} runId={runId} />}
      {hasPanels && <ResponsePanel turnId={turnId} item={item} />}
    </Disclosure>
  );
}
