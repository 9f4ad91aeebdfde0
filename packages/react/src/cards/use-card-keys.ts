/**
 * `useCardKeys` adds single-key shortcuts to a pending card.
 * Invariant: the key A only moves the focus to the card. Another key decides, and only while the card has the focus.
 * Shortcuts are off in text fields and if the provider disables them (WCAG 2.1.4). A pending card has one listener,
 * however often it renders.
 */
import { type RefObject, useEffect, useRef } from "react";
import { useThreadContext } from "../context.ts";

export const FOCUS_KEY = "a";

/** @param onKey the actions while the focus is in the card, by lower-case key */
export function useCardKeys(
  card: RefObject<HTMLElement | null>,
  isWaiting: boolean,
  onKey: Readonly<Record<string, () => void>>,
): void {
  const { shortcuts } = useThreadContext();
  // The actions are new functions in each render, which must not replace the listener.
  const actions = useRef(onKey);
  useEffect(() => {
    actions.current = onKey;
  });
  useEffect(() => {
    if (!isWaiting || !shortcuts) return undefined;
    const press = (event: KeyboardEvent): void => {
      const element = card.current;
      const isPlain =
        !event.ctrlKey && !event.metaKey && !event.altKey && !event.repeat && !event.isComposing;
      if (element === null || !isPlain || event.defaultPrevented || isTyping(event.target)) return;
      const key = event.key.toLowerCase();
      const isInside = event.target instanceof Node && element.contains(event.target);
      const act = isInside ? actions.current[key] : undefined;
      if (act !== undefined) {
        event.preventDefault();
        act();
      } else if (key === FOCUS_KEY && !isInside && isFirstPending(element)) {
        event.preventDefault();
        element.focus();
      }
    };
    document.addEventListener("keydown", press);
    return () => document.removeEventListener("keydown", press);
  }, [card, isWaiting, shortcuts]);
}

function isTyping(target: EventTarget | null): boolean {
  if (!(target instanceof HTMLElement)) return false;
  return target.isContentEditable || /^(INPUT|TEXTAREA|SELECT)$/.test(target.tagName);
}

/** If several cards are pending, A focuses the first one on the page. */
function isFirstPending(element: HTMLElement): boolean {
  return document.querySelector('[data-card="approval"][data-waiting]') === element;
}
