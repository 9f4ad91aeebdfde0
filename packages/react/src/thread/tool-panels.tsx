/**
 * `RequestPanel` and `ResponsePanel` show the arguments and the result of a tool call (requirement U03).
 * Invariant: they render only while expanded, so the JSON is formatted only then. Results are untrusted: text stays
 * text, links pass `SafeLink`, and images are shown by the component `Artifact`.
 */
import type { Json, ResultPart, ToolItem, FullContent } from "@turnstream/protocol";
import type { ReactNode } from "react";
import { SafeLink } from "../ui/safe-link.tsx";
import { useThreadContext } from "../context.ts";
import { usePart } from "../parts.tsx";

const MAX_LINE_CHARS = 60;

export function RequestPanel({ item }: { readonly item: ToolItem }): ReactNode {
  const { thread } = useThreadContext().strings;
  const isEmpty = item.input === null ? item.call.args === "" : isEmptyObject(item.input);
  if (isEmpty) return null;
  return (
    <Panel title={thread.request} note={item.edited ? thread.edited : null} fullContent={item.call.whole}>
      <PanelText text={item.input === null ? item.call.args : formatJson(item.input)} />
    </Panel>
  );
}

export function ResponsePanel({ item }: { readonly item: ToolItem }): ReactNode {
  const { strings, components } = useThreadContext();
  const { result, resultText, isError } = item;
  if (result === null) return null;
  const { Artifact } = components;
  const pictures = result.parts.filter(({ media }) => media === "image");
  const text = resultText || joinText(result.parts);
  if (text === "" && pictures.length === 0 && result.whole === null) return null;
  return (
    <Panel title={strings.thread.response} isError={isError} fullContent={result.whole}>
      {text !== "" && <PanelText text={formatIfJson(text)} />}
      {pictures.map(({ data }, n) => (
        // Parts never move, so their index is their identity.
        <Artifact key={n} artifact={{ type: "image", data: { url: data } }} />
      ))}
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
  const { thread } = useThreadContext().strings;
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
  const mayScroll = text.length > 400 || text.split("\n").length > 8;
  return <pre {...(mayScroll ? { tabIndex: 0 } : {})}>{text}</pre>;
}

function joinText(parts: readonly ResultPart[]): string {
  const texts = parts.filter(({ media }) => media === "text").map(({ data }) => data);
  return texts.join("\n");
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
