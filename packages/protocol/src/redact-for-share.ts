/**
 * `redactForShare` removes the ids of session and users, form values and checkout URLs from an event, because readers
 * of a share must not see them. Pure.
 *
 * Invariant: shared sessions and forks pass their events through it, so a new event field with a user id, a form value
 * or a secret link must be removed here. It keeps hidden content, because the model of a fork continues from it. Every
 * reader gets that content removed by omit-hidden.ts.
 */
import type { SessionEvent } from "./events/index.ts";

export function redactForShare(event: SessionEvent): SessionEvent {
  const shown = removeContent(event);
  if (!("by" in shown)) return shown;
  const { by: _by, ...rest } = shown;
  return rest;
}

const SHARED_SESSION = "shared";

function removeContent(event: SessionEvent): SessionEvent {
  if (event.type === "session.start") return { ...event, session: SHARED_SESSION, number: 0 };
  // The key starts with the id of the session. The number after it stays, because keys are unique.
  if (event.type === "approval.request" || event.type === "question.request")
    return { ...event, key: event.key.replace(/^.*(?=_)/s, SHARED_SESSION) };
  if (event.type === "form.update" && event.values !== undefined) return { ...event, values: {} };
  // Its token opens the checkout of the original payment.
  return event.type === "payment.request" ? { ...event, checkout_url: "" } : event;
}
