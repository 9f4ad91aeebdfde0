/**
 * The text of an answer. Plain until what draws Markdown is there: on a server, and before it has loaded. Never waits for
 * it, and never draws something else at first than the server did.
 */
import { useEffect, useSyncExternalStore } from "react";
import type { MarkdownProps } from "../components.ts";
import { createLater } from "../later.tsx";
import { Sources } from "./sources.tsx";

const body = createLater(() => import("./markdown-chunk.tsx"));

/** Loads what draws Markdown, so that it is there when the first answer comes. */
export const preloadMarkdown = body.load;

export function Markdown(props: MarkdownProps) {
  const loaded = useSyncExternalStore(body.subscribe, body.get, () => null);
  useEffect(() => void preloadMarkdown(), []);
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
