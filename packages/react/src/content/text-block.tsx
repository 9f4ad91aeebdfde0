/** What the agent says. */
import { type ReactNode, useEffect, useSyncExternalStore } from "react";
import { isOpen } from "@turnstream/protocol";
import type { BlockProps, MarkdownProps } from "../components.ts";
import { useShared } from "../context.ts";
import { formatDuration } from "../format.ts";
import { useOpen } from "../hooks/use-expanded.ts";
import { useBlock } from "../hooks/use-turn.ts";
import { createLater } from "../lazy-parts.tsx";
import { Disclosure } from "../ui/disclosure.tsx";
import { Sources } from "./citations/citation.tsx";

export function TextBlock({ turn, index }: BlockProps): ReactNode {
  const { components } = useShared();
  const block = useBlock(turn, index, "text");
  if (block === null) return null;
  const { text, annotations } = block;
  return (
    <div className="ts-text">
      <components.Markdown text={text} isStreaming={isOpen(block)} annotations={annotations} turn={turn} />
    </div>
  );
}

/**
 * The text of an answer. Plain until what draws Markdown is there: before it has loaded, and on a server that didn't preload
 * it. Never waits for it, and never draws something else at first than the server did.
 */
export const markdown = createLater(() => import("./markdown-chunk.tsx"));

export function Markdown(props: MarkdownProps) {
  const loaded = useSyncExternalStore(markdown.subscribe, markdown.get, markdown.getFirst);
  useEffect(() => void markdown.load(), []);
  const { text, isStreaming, annotations, turn } = props;
  return (
    <div className="ts-markdown" dir="auto">
      {loaded === null ? <p className="ts-plain">{text}</p> : <loaded.MarkdownBody {...props} />}
      {!isStreaming && annotations !== undefined && annotations.length > 0 && turn !== undefined && (
        <Sources annotations={annotations} turn={turn} />
      )}
    </div>
  );
}

/** What the agent thinks: open while it comes, shut once it is there, and as the person wants from their first click on. */
export function ThinkingBlock({ turn, index }: BlockProps): ReactNode {
  const { strings } = useShared();
  const block = useBlock(turn, index, "thinking");
  const isStreaming = block?.end === null;
  const [isOpen, toggle] = useOpen(turn, index, isStreaming);
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
    <Disclosure className="ts-thinking" isOpen={isOpen} onToggle={toggle} head={head}>
      <div className="ts-plain" dir="auto">
        {block.text}
      </div>
    </Disclosure>
  );
}
