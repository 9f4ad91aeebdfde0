/** What was asked of a tool and what it gave (U03). Only drawn while open: that is when the JSON is made. */
import type { Json, ResultPart, ToolItem, FullContent } from "@turnstream/protocol";
import type { ReactNode } from "react";
import { SafeLink } from "../ui/safe-link.tsx";
import { useShared } from "../context.ts";

const LINE = 60;

export function RequestPanel({ item }: { readonly item: ToolItem }): ReactNode {
  const { thread } = useShared().strings;
  const isEmpty = item.input === null ? item.call.args === "" : isBare(item.input);
  if (isEmpty) return null;
  return (
    <Panel title={thread.request} note={item.edited ? thread.edited : null} whole={item.call.whole}>
      <Lines text={item.input === null ? item.call.args : pretty(item.input)} />
    </Panel>
  );
}

export function ResponsePanel({ item }: { readonly item: ToolItem }): ReactNode {
  const { strings, components } = useShared();
  const { result, resultText, isError } = item;
  if (result === null) return null;
  const { Artifact } = components;
  const pictures = result.parts.filter(({ media }) => media === "image");
  const text = resultText || joined(result.parts);
  if (text === "" && pictures.length === 0 && result.whole === null) return null;
  return (
    <Panel title={strings.thread.response} isError={isError} whole={result.whole}>
      {text !== "" && <Lines text={prettyIfJson(text)} />}
      {pictures.map(({ data }, n) => (
        // Parts never move: their number is their identity.
        <Artifact key={n} artifact={{ type: "image", data: { url: data } }} />
      ))}
    </Panel>
  );
}

interface PanelProps {
  readonly title: string;
  readonly note?: string | null;
  readonly isError?: boolean;
  readonly whole: FullContent | null;
  readonly children: ReactNode;
}

function Panel({ title, note = null, isError = false, whole, children }: PanelProps): ReactNode {
  const { thread } = useShared().strings;
  return (
    // A group, not a section: a thread has many, and they are no landmarks.
    <div className="ts-panel" role="group" data-error={isError || undefined} aria-label={title}>
      <div className="ts-panel-title">
        <span>{title}</span>
        {note !== null && <span className="ts-panel-note">{note}</span>}
        {whole?.url !== undefined && (
          <SafeLink address={whole.url} className="ts-link">
            {thread.showWhole}
          </SafeLink>
        )}
      </div>
      {children}
    </div>
  );
}

/** What may be too tall for its panel can be reached by keyboard, so that it can be scrolled. */
function Lines({ text }: { readonly text: string }): ReactNode {
  const mayScroll = text.length > 400 || text.split("\n").length > 8;
  return <pre {...(mayScroll ? { tabIndex: 0 } : {})}>{text}</pre>;
}

function joined(parts: readonly ResultPart[]): string {
  const texts = parts.filter(({ media }) => media === "text").map(({ data }) => data);
  return texts.join("\n");
}

/** Set out over lines, unless all of it fits into one. */
function pretty(value: Json): string {
  const lines = JSON.stringify(value, null, 2);
  const line = lines.replaceAll(/\n\s*/g, " ");
  return line.length <= LINE && !Array.isArray(value) ? line : lines;
}

function isBare(value: Json): boolean {
  return typeof value === "object" && value !== null && Object.keys(value).length === 0;
}

/** Results are often JSON in text: easier to read when set out. */
function prettyIfJson(text: string): string {
  if (!/^\s*[[{]/.test(text)) return text;
  try {
    return pretty(JSON.parse(text) as Json);
  } catch {
    return text;
  }
}
