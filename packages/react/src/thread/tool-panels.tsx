/**
 * `RequestPanel` and `ResponsePanel` show the arguments and the result of a tool call (requirement U03).
 * Invariant: they render only while expanded, so the JSON is formatted only then, and long text only in part. Results
 * are untrusted: text stays text, and links pass `SafeLink`. An answer that the steps of a sub-agent already show is
 * not shown again.
 */
import type { Json, ToolItem, FullContent } from "@turnstream/protocol";
import { type ReactNode, useState } from "react";
import { SafeLink } from "../ui/safe-link.tsx";
import { useTurnLayout } from "../hooks/use-turn.ts";
import { joinText } from "./call-note.ts";
import { usePart } from "../parts.tsx";
import { useStrings } from "../hooks/use-strings.ts";
import { Button } from "../ui/button.tsx";

const MAX_LINE_CHARS = 60;
/** What a panel shows before the user asks for all of it. */
const MAX_CHARS = 4_000;

export function RequestPanel({ item }: { readonly item: ToolItem }): ReactNode {
  const { thread } = useStrings();
  const isEmpty = item.input === null ? item.call.args === "" : isEmptyObject(item.input);
  if (isEmpty) return null;
  return (
    <Panel title={thread.request} note={item.edited ? thread.edited : null} fullContent={item.call.whole}>
      <PanelText text={item.input === null ? item.call.args : formatJson(item.input)} />
    </Panel>
  );
}

interface ResponsePanelProps {
  readonly turnId: string;
  readonly item: ToolItem;
}

export function ResponsePanel({ turnId, item }: ResponsePanelProps): ReactNode {
  const strings = useStrings();
  const steps = useTurnLayout(turnId, item.run?.id ?? "");
  const { result, resultText, isError } = item;
  if (result === null) return null;
  const last = steps.at(-1);
  const isShown = !isError && last?.type === "block" && last.component === "TextBlock";
  const text = resultText || joinText(item);
  if (isShown || (text === "" && result.whole === null)) return null;
  return (
    <Panel title={strings.thread.response} isError={isError} fullContent={result.whole}>
      {text !== "" && <PanelText text={formatIfJson(text)} />}
    </Panel>
  );
}

interface PanelProps {
  readonly title: string;
  readonly note?: string | null;
  readonly isError?: boolean;
  readonly fullContent: FullContent | null;
  readonly children: ReactNode;
}

function Panel({ title, note = null, isError = false, fullContent, children }: PanelProps): ReactNode {
  const { thread } = useStrings();
  return (
    // A group instead of a section, because a thread has many and they are not landmarks.
    <div
      {...usePart("tool-panel", "ts-panel")}
      role="group"
      data-error={isError || undefined}
      aria-label={title}
    >
      <div className="ts-panel-title">
        <span>{title}</span>
        {note !== null && <span className="ts-panel-note">{note}</span>}
        {fullContent?.url !== undefined && (
          <SafeLink address={fullContent.url} className="ts-link">
            {thread.showAll}
          </SafeLink>
        )}
      </div>
      {children}
    </div>
  );
}

/** Long text is focusable, so that a keyboard can scroll it. */
function PanelText({ text }: { readonly text: string }): ReactNode {
  const { thread } = useStrings();
  const [isWhole, setWhole] = useState(false);
  const isCut = text.length > MAX_CHARS && !isWhole;
  const mayScroll = text.length > 400 || text.split("\n").length > 8;
  return (
    <>
      <pre {...(mayScroll ? { tabIndex: 0 } : {})}>{isCut ? `${text.slice(0, MAX_CHARS)}…` : text}</pre>
      {isCut && (
        <Button className="ts-link ts-panel-more" onClick={() => setWhole(true)}>
          {thread.showAll}
        </Button>
      )}
    </>
  );
}

/** Formats JSON over several lines, unless it fits into one. */
function formatJson(value: Json): string {
  const lines = JSON.stringify(value, null, 2);
  const line = lines.replaceAll(/\n\s*/g, " ");
  return line.length <= MAX_LINE_CHARS && !Array.isArray(value) ? line : lines;
}

function isEmptyObject(value: Json): boolean {
  return typeof value === "object" && value !== null && Object.keys(value).length === 0;
}

/** Results are often JSON text, which is easier to read when formatted. */
function formatIfJson(text: string): string {
  if (!/^\s*[[{]/.test(text)) return text;
  try {
    return formatJson(JSON.parse(text) as Json);
  } catch {
    return text;
  }
}
