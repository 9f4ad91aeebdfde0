/**
 * `useCardKeys` adds single-key shortcuts to a pending card.
 * Invariant: the key A only moves the focus to the card. Another key decides, and only while the card has the focus.
 * Shortcuts are off in text fields and if the provider disables them (WCAG 2.1.4). A pending card has one listener,
 * however often it renders.
 */
import { type RefObject, useContext, useEffect, useRef } from "react";
import { ThreadPartsContext, useThreadContext } from "../context.ts";

export const FOCUS_KEY = "a";

/** @param onKey the actions while the focus is in the card, by lower-case key */
export function useCardKeys(
  card: RefObject<HTMLElement | null>,
  isWaiting: boolean,
  onKey: Readonly<Record<string, () => void>>,
): void {
  const { shortcuts } = useThreadContext();
  const root = useContext(ThreadPartsContext)?.root;
  // The actions are new functions in each render, which must not replace the listener.
  const actions = useRef(onKey);
  useEffect(() => {
    actions.current = onKey;
  });
  useEffect(() => {
    if (!isWaiting || !shortcuts) return undefined;
    const press = (event: Event): void => {
      if (!(event instanceof KeyboardEvent)) return;
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
      } else if (key === FOCUS_KEY && !isInside && isFirstPending(element, root?.current ?? document)) {
        event.preventDefault();
        element.focus();
      }
    };
    // The thread that has the focus comes before other threads of the page, and each handles a key once.
    const targets = [root?.current ?? document, document];
    for (const target of targets) target.addEventListener("keydown", press);
    return () => {
      for (const target of targets) target.removeEventListener("keydown", press);
    };
  }, [card, root, isWaiting, shortcuts]);
}

function isTyping(target: EventTarget | null): boolean {
  if (!(target instanceof HTMLElement)) return false;
  return target.isContentEditable || /^(INPUT|TEXTAREA|SELECT)$/.test(target.tagName);
}

/** If several cards of a thread are pending, A focuses the first one. */
function isFirstPending(element: HTMLElement, thread: ParentNode): boolean {
  return thread.querySelector('[data-card="approval"][data-waiting]') === element;
}
