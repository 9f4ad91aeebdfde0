/**
 * `upgradeEvent` converts an event of the previous schema version to the current one, so that readers fold both.
 * Invariant: writers never use it. When SCHEMA_VERSION increases, replace the conversion below with the new one.
 *
 * Version 1 -> 2: `tool_result.end` called its `preview` `content`, and `group.end` could lack `summary`.
 */
import { SCHEMA_VERSION } from "../version.ts";
import type { SessionEvent } from "./index.ts";

/** An event of the current schema version or the previous one. */
export type ReadableEvent = SessionEvent | { readonly v: number; readonly id: string; readonly type: string };

export function upgradeEvent(event: ReadableEvent): SessionEvent {
  if (event.v !== SCHEMA_VERSION - 1) return event as SessionEvent;
  const old = event as { readonly v: number; readonly type: string; readonly [field: string]: unknown };
  if (old.type === "tool_result.end") {
    const { content, ...rest } = old;
    return { preview: content, ...rest, v: SCHEMA_VERSION } as unknown as SessionEvent;
  }
  if (old.type === "group.end") return { summary: "", ...old, v: SCHEMA_VERSION } as unknown as SessionEvent;
  return { ...old, v: SCHEMA_VERSION } as unknown as SessionEvent;
}
