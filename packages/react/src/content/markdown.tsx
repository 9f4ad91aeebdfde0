/**
 * The text of an answer. Plain until what draws Markdown is there: on a server, and before it has loaded. Never waits for
 * it, and never draws something else at first than the server did.
 */
import { useEffect, useSyncExternalStore } from "react";
import type { MarkdownProps } from "../components.ts";
import { Sources } from "./sources.tsx";

type Chunk = typeof import("./markdown-chunk.tsx");

let chunk: Chunk | null = null;
let loading: Promise<void> | null = null;
const listeners = new Set<() => void>();

/** Loads what draws Markdown, so that it is there when the first answer comes. A failure is tried again when next asked. */
export function preloadMarkdown(): Promise<void> {
  loading ??= import("./markdown-chunk.tsx").then(
    (loaded) => {
      chunk = loaded;
      for (const listener of listeners) listener();
    },
    () => {
      loading = null;
    },
  );
  return loading;
}

function subscribe(listener: () => void): () => void {
  listeners.add(listener);
  return () => void listeners.delete(listener);
}

export function Markdown(props: MarkdownProps) {
  const loaded = useSyncExternalStore(
    subscribe,
    () => chunk,
    () => null,
  );
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
