/**
 * `redactForShare` removes user ids and form values from an event, which readers of a share must not see. Pure.
 *
 * Invariant: shared sessions and forks pass their events through it. A new event field with a user id or a form value
 * must be removed here.
 */
import type { SessionEvent } from "@turnstream/protocol";

export function redactForShare(event: SessionEvent): SessionEvent {
  const shown = event.type === "form.update" && event.values !== undefined ? { ...event, values: {} } : event;
  if (!("by" in shown)) return shown;
  const { by: _by, ...rest } = shown;
  return rest;
}
