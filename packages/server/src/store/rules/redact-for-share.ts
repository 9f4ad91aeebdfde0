/** `redactForShare` removes user ids and form values from an event, which readers of a share must not see. Pure. */
import type { SessionEvent } from "@turnstream/protocol";

export function redactForShare(event: SessionEvent): SessionEvent {
  const shown = event.type === "form.update" && event.values !== undefined ? { ...event, values: {} } : event;
  if (!("by" in shown)) return shown;
  const { by: _by, ...rest } = shown;
  return rest;
}
