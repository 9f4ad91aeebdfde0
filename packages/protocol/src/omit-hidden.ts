/**
 * `omitHiddenEvent` and `omitHiddenTurn` remove from an event or from a turn what users don't see: names, arguments and
 * results of hidden calls, and thinking in chat mode. They serve callers without the scope `debug`. Pure.
 *
 * Invariant: both apply one rule, so folding the reduced events gives the reduced turns, from every position. Blocks
 * keep ids, indexes and statuses, and events keep cursors. An event of an unknown block counts as hidden. The call of
 * `request_form` counts as visible, because the form shows its content.
 */
import type { EventOf, SessionEvent } from "./events/index.ts";
import { findTurn } from "./fold/edit.ts";
import type { TurnSnapshot } from "./snapshot.ts";
import { isBlock, type SessionState } from "./state.ts";

/** Replaces the name of a hidden tool. An event can't have an empty name. */
const HIDDEN_NAME = "hidden";
/** The tool whose call is hidden because the form shows it. `responses` lists it as a step. */
export const REQUEST_FORM = "request_form";

/** @param before the state before the event */
export function omitHiddenEvent(before: SessionState, event: SessionEvent): SessionEvent {
  switch (event.type) {
    case "thinking.delta":
      return findTurn(before, event.turn)?.mode === "agent" ? event : { ...event, text: "" };
    case "tool_call.start":
    case "tool_result.start":
      return isHidden(event) ? { ...event, ...NO_NAME } : event;
    case "tool_call.delta":
      return isShownIn(before, event) ? event : { ...event, args: "" };
    case "tool_call.end": {
      if (isShownIn(before, event)) return event;
      const { input: _, whole: __, ...rest } = event;
      return rest;
    }
    case "tool_result.delta": {
      if (isShownIn(before, event)) return event;
      const { reference: _, ...rest } = event;
      return { ...rest, part: 0, media: "text", data: "", done: false };
    }
    case "tool_result.end": {
      if (isShownIn(before, event)) return event;
      const { whole: _, results: __, structured: ___, ...rest } = event;
      return { ...rest, preview: "", artifact: null };
    }
    default:
      return event;
  }
}

type ToolEvent = EventOf<"tool_call.delta" | "tool_call.end" | "tool_result.delta" | "tool_result.end">;

const NO_NAME = { name: HIDDEN_NAME, label: "" } as const;

function isHidden({ hidden, name }: { readonly hidden?: boolean; readonly name: string }): boolean {
  return hidden === true && name !== REQUEST_FORM;
}

function isShownIn(state: SessionState, { turn, index, block: id }: ToolEvent): boolean {
  const item = findTurn(state, turn)?.items.get(index) ?? null;
  return isBlock(item) && item.id === id && "hidden" in item && !isHidden(item);
}

type ItemSnapshot = TurnSnapshot["items"][number];

/** Returns the same turn if nothing in it is hidden. */
export function omitHiddenTurn(turn: TurnSnapshot): TurnSnapshot {
  const items = turn.items.map((item) => omitContent(item, turn.mode));
  return items.every((item, n) => item === turn.items[n]) ? turn : { ...turn, items };
}

function omitContent(item: ItemSnapshot, mode: TurnSnapshot["mode"]): ItemSnapshot {
  switch (item?.kind) {
    case "thinking":
      return mode === "agent" ? item : { ...item, text: "" };
    case "tool_call": {
      if (!isHidden(item)) return item;
      const { input: _, ...rest } = item;
      return { ...rest, ...NO_NAME, args: "", given: false, whole: null };
    }
    case "tool_result": {
      if (!isHidden(item)) return item;
      const isEnded = item.end !== null && !item.aborted;
      const part = { media: "text", data: "", reference: null, done: isEnded, pictures: 0 } as const;
      const parts = item.parts.length === 0 ? [] : [part];
      const { structured: _, ...rest } = item;
      return { ...rest, ...NO_NAME, parts, preview: "", artifact: null, whole: null, results: null };
    }
    case "superseded": {
      // A superseded call or result without an output number was hidden.
      const isNameHidden = item.output === null && item.name !== null && item.name !== REQUEST_FORM;
      return isNameHidden ? { ...item, name: HIDDEN_NAME } : item;
    }
    default:
      return item;
  }
}
