/**
 * `TextBlock` shows the text of an agent, `Markdown` renders it, and `ThinkingBlock` shows its thoughts.
 * Invariant: an answer is plain text until the Markdown chunk is loaded and never waits for it. Thoughts are always
 * plain text. Sources are listed only after the text is complete.
 */
import { type ReactNode, useEffect, useSyncExternalStore } from "react";
import { isOpen } from "@turnstream/protocol";
import type { BlockProps, MarkdownProps } from "../components.ts";
import { useThreadContext } from "../context.ts";
import { formatDuration } from "../format.ts";
import { useExpanded } from "../hooks/use-expanded.ts";
import { useBlock } from "../hooks/use-turn.ts";
import { createLazyParts } from "../lazy-parts.ts";
import { Disclosure } from "../ui/disclosure.tsx";
import { Slot, usePart } from "../parts.tsx";

export function TextBlock({ turnId, blockIndex }: BlockProps): ReactNode {
  const { components } = useThreadContext();
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

/**
 * The text of an answer. It is plain text until the Markdown chunk is loaded, and on a server that didn't preload it.
 * Invariant: it never waits for the chunk, and its first render in the browser equals the server's.
 */
export const lazyMarkdown = createLazyParts(() => import("./markdown-chunk.tsx"));

export function Markdown(props: MarkdownProps) {
  const loaded = useSyncExternalStore(lazyMarkdown.subscribe, lazyMarkdown.get, lazyMarkdown.getForHydration);
  useEffect(() => void lazyMarkdown.load(), []);
  const { text, isStreaming, annotations, turnId } = props;
  return (
    <div {...usePart("markdown", "ts-markdown")} dir="auto">
      {loaded === null ? (
        <p className="ts-plain">{text}</p>
      ) : (
        <>
          <loaded.MarkdownBody {...props} />
          {!isStreaming && annotations !== undefined && annotations.length > 0 && turnId !== undefined && (
            <loaded.Sources annotations={annotations} turn={turnId} />
          )}
        </>
      )}
    </div>
  );
}

/**
 * Shows the agent's thinking: expanded while it streams, collapsed afterwards, and from the first click on as the user
 * chooses.
 */
export function ThinkingBlock({ turnId, blockIndex }: BlockProps): ReactNode {
  const { strings } = useThreadContext();
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
