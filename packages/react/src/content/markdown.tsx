/**
 * The text of an answer. Plain until what draws Markdown is there: before it has loaded, and on a server that didn't preload
 * it. Never waits for it, and never draws something else at first than the server did.
 */
import { useEffect, useSyncExternalStore } from "react";
import type { MarkdownProps } from "../components.ts";
import { createLater } from "../lazy-parts.tsx";
import { Sources } from "./sources.tsx";

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
