/**
 * The text of an answer. Plain until what draws Markdown is there: on a server, and before it has loaded. Never waits for
 * it, and never draws something else at first than the server did.
 */
import { type ComponentType, useEffect, useSyncExternalStore } from "react";
import type { MarkdownProps } from "../components.ts";
import { Sources } from "./sources.tsx";

let Body: ComponentType<MarkdownProps> | null = null;
let loading: Promise<void> | null = null;
const listeners = new Set<() => void>();

/** Loads what draws Markdown, so that it is there when the first answer comes. A failure is tried again when next asked. */
export function preloadMarkdown(): Promise<void> {
  loading ??= load();
  return loading;
}

async function load(): Promise<void> {
  try {
    ({ MarkdownBody: Body } = await import("./markdown-chunk.tsx"));
    for (const listener of listeners) listener();
  } catch {
    loading = null;
  }
}

function subscribe(listener: () => void): () => void {
  listeners.add(listener);
  return () => void listeners.delete(listener);
}

export function Markdown(props: MarkdownProps) {
  const Loaded = useSyncExternalStore(
    subscribe,
    () => Body,
    () => null,
  );
  useEffect(() => void preloadMarkdown(), []);
  const { text, isStreaming, annotations, turn } = props;
  return (
    <div className="ts-markdown" dir="auto">
      {Loaded === null ? <p className="ts-plain">{text}</p> : <Loaded {...props} />}
      {!isStreaming && annotations !== undefined && annotations.length > 0 && turn !== undefined && (
        <Sources annotations={annotations} turn={turn} />
      )}
    </div>
  );
}
