/**
 * `redactForShare` removes user ids, form values and checkout URLs from an event, and `omitHidden` the content that
 * clients don't show from a turn. Readers of a share must see neither. Pure.
 *
 * Invariant: shared sessions and forks pass their events through `redactForShare`, so a new event field with a user id,
 * a form value or a secret link must be removed there. `omitHidden` leaves the blocks at their places, because positions and calls
 * refer to them. Forks keep hidden content, because the model continues from it.
 */
import { restoreTurn, type SessionEvent, type Turn, type TurnSnapshot } from "@turnstream/protocol";
import { turnSnapshot } from "@turnstream/protocol/writer";

export function redactForShare(event: SessionEvent): SessionEvent {
  const shown = removeContent(event);
  if (!("by" in shown)) return shown;
  const { by: _by, ...rest } = shown;
  return rest;
}

function removeContent(event: SessionEvent): SessionEvent {
  if (event.type === "form.update" && event.values !== undefined) return { ...event, values: {} };
  // Its token opens the checkout of the original payment.
  return event.type === "payment.request" ? { ...event, checkout_url: "" } : event;
}

type ItemSnapshot = TurnSnapshot["items"][number];

const HIDDEN_NAME = "hidden";

/** Removes names, arguments, results and blob references of hidden blocks, and thinking of turns in chat mode. */
export function omitHidden(turn: Turn): Turn {
  const shown = turnSnapshot(turn);
  return restoreTurn({ ...shown, items: shown.items.map((item) => omitContent(item, turn.mode)) });
}

function omitContent(item: ItemSnapshot, mode: Turn["mode"]): ItemSnapshot {
  if (item?.kind === "thinking" && mode === "chat") return { ...item, text: "" };
  if (item?.kind === "tool_call" && item.hidden)
    return { ...item, name: HIDDEN_NAME, label: "", args: "", given: true, input: null, whole: null };
  if (item?.kind === "tool_result" && item.hidden)
    return {
      ...item,
      name: HIDDEN_NAME,
      label: "",
      parts: [],
      preview: "",
      artifact: null,
      whole: null,
      results: null,
    };
  return item;
}
