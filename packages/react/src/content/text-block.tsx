/**
 * `TextBlock` shows the text of an agent, `Markdown` renders it, and `ThinkingBlock` shows its thoughts.
 * Invariant: an answer is plain text until the Markdown chunk is loaded and never waits for it. Thoughts are always
 * plain text. Sources are listed only after the text is complete.
 */
import type { ReactNode } from "react";
import { isOpen } from "@turnstream/protocol";
import type { BlockProps, MarkdownProps } from "../components.ts";
import { useThreadParts } from "../context.ts";
import { formatDuration } from "../format.ts";
import { useExpanded } from "../hooks/use-expanded.ts";
import { useBlock } from "../hooks/use-turn.ts";
import { createLazyParts } from "../lazy-parts.tsx";
import { Disclosure } from "../ui/disclosure.tsx";
import { Slot, usePart } from "../parts.tsx";
import { useStrings } from "../hooks/use-strings.ts";

export function TextBlock({ turnId, blockIndex }: BlockProps): ReactNode {
  const { components } = useThreadParts();
  const block = useBlock(turnId, blockIndex, "text");
  const root = usePart("text", "ts-text");
  if (block === null) return null;
  const { text, annotations } = block;
  return (
    <div {...root}>
      <components.Markdown
        text={text}
        isStreaming={isOpen(block)}
        annotations={annotations}
        turnId={turnId}
      />
      <Slot name="TextEnd" turnId={turnId} blockIndex={blockIndex} />
    </div>
  );
}

export const lazyMarkdown = createLazyParts(() => import("./markdown-chunk.tsx"));

const PlainText = ({ text }: MarkdownProps): ReactNode => <p className="ts-plain">{text}</p>;
const MarkdownText = lazyMarkdown.part(({ MarkdownText: Loaded }) => Loaded, PlainText);

/** The text of an answer. It never waits for the chunk: it is plain text until then. */
export function Markdown(props: MarkdownProps): ReactNode {
  return (
    <div {...usePart("markdown", "ts-markdown")} dir="auto">
      <MarkdownText {...props} />
    </div>
  );
}

/**
 * Shows the agent's thinking: expanded while it streams, collapsed afterwards, and from the first click on as the user
 * chooses.
 */
export function ThinkingBlock({ turnId, blockIndex }: BlockProps): ReactNode {
  const strings = useStrings();
  const block = useBlock(turnId, blockIndex, "thinking");
  const isStreaming = block?.end === null;
  const [isExpanded, toggle] = useExpanded(turnId, blockIndex, isStreaming);
  if (block === null) return null;
  const { thread } = strings;
  const took = block.ended_at === null ? null : block.ended_at - block.started_at;
  const head = (
    <>
      <span className={isStreaming ? "ts-shimmer" : undefined}>
        {isStreaming ? thread.thinking : thread.thought}
      </span>
      {took !== null && took >= 1000 && <span className="ts-meta">{formatDuration(strings, took)}</span>}
    </>
  );
  return (
    <Disclosure part="thinking" className="ts-thinking" isExpanded={isExpanded} onToggle={toggle} head={head}>
      <div className="ts-plain" dir="auto">
        {block.text}
      </div>
    </Disclosure>
  );
}
