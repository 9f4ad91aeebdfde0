/**
 * `useStickToBottom` keeps a scroll container at its end while the user reads there.
 * Invariant: `stickElementToBottom` of `@turnstream/client/view` decides and scrolls. A thread is at its end before the
 * first paint.
 */
import { type RefObject, useCallback, useRef, useState } from "react";
import { useIsomorphicLayoutEffect } from "./use-isomorphic-layout-effect.ts";
import { type StickyElement, stickElementToBottom } from "@turnstream/client/view";

export interface StickToBottom {
  readonly isAtBottom: boolean;
  readonly scrollToBottom: () => void;
}

/**
 * @param content the growing element inside `scroller`
 * @param hasContent false while the thread is empty; a placeholder is then shown from its top
 */
export function useStickToBottom(
  scroller: RefObject<HTMLElement | null>,
  content: RefObject<HTMLElement | null>,
  hasContent = true,
): StickToBottom {
  const [isAtBottom, setAtBottom] = useState(true);
  const sticky = useRef<StickyElement | null>(null);
  useIsomorphicLayoutEffect(() => {
    if (!hasContent || scroller.current === null || content.current === null) return undefined;
    const element = stickElementToBottom(scroller.current, content.current, setAtBottom);
    sticky.current = element;
    return () => element.stop();
  }, [scroller, content, hasContent]);
  const scrollToBottom = useCallback(() => sticky.current?.scrollToBottom(), []);
  return { isAtBottom, scrollToBottom };
}
