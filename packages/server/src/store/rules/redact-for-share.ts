/**
 * An event as those see it whom a session was shared with: what was said, not by whom, and not what a person filled into
 * a form. Pure.
 */
import type { SessionEvent } from "@turnstream/protocol";

export function redactForShare(event: SessionEvent): SessionEvent {
  const shown = event.type === "form.update" && event.values !== undefined ? { ...event, values: {} } : event;
  if (!("by" in shown)) return shown;
  const { by: _by, ...rest } = shown;
  return rest;
}
