/**
 * `useStickToBottom` keeps a scroll container at its end while the user reads there.
 * Invariant: it only measures and scrolls; `stepStickToBottom` of `@turnstream/client/view` decides. It jumps and never
 * scrolls smoothly. A thread is at its end before the first paint.
 */
import { type RefObject, useCallback, useEffect, useLayoutEffect, useRef, useState } from "react";
import {
  stepStickToBottom,
  STUCK_TO_BOTTOM,
  type StickToBottomInput,
  type ScrollMetrics,
} from "@turnstream/client/view";

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
  const state = useRef(STUCK_TO_BOTTOM);
  const [step] = useState(() => (input: StickToBottomInput): void => {
    const next = stepStickToBottom(state.current, input);
    state.current = next.state;
    setAtBottom(next.state.isAtBottom);
    const element = scroller.current;
    if (next.moveToEnd && element !== null) element.scrollTop = element.scrollHeight;
  });
  // Before the first paint, so that a thread opens at its end.
  useLayoutEffect(() => {
    if (hasContent) step({ type: "to_end" });
  }, [step, hasContent]);
  useEffect(() => {
    const element = scroller.current;
    const inner = content.current;
    if (!hasContent || element === null || inner === null) return undefined;
    const leaveUp = (event: WheelEvent): void => {
      if (event.deltaY < 0 && element.scrollTop > 0) step({ type: "left" });
    };
    const onKey = (event: KeyboardEvent): void => {
      if (event.target === element && SCROLL_UP_KEYS.has(event.key)) step({ type: "left" });
    };
    const onScroll = (): void => step({ type: "scrolled", at: measureScroll(element) });
    const onSize = (): void => step({ type: "resized", at: measureScroll(element) });
    // Content that the user expands stays in place instead of being pushed out of sight.
    const onClick = (event: MouseEvent): void => {
      const { target } = event;
      if (!(target instanceof Element) || target.closest("[aria-expanded]") === null) return;
      step({ type: "left" });
      requestAnimationFrame(onSize);
    };
    const sizes = new ResizeObserver(onSize);
    sizes.observe(inner);
    sizes.observe(element);
    element.addEventListener("scroll", onScroll, { passive: true });
    element.addEventListener("wheel", leaveUp, { passive: true });
    element.addEventListener("keydown", onKey);
    element.addEventListener("click", onClick, true);
    return () => {
      sizes.disconnect();
      element.removeEventListener("scroll", onScroll);
      element.removeEventListener("wheel", leaveUp);
      element.removeEventListener("keydown", onKey);
      element.removeEventListener("click", onClick, true);
    };
  }, [scroller, content, step, hasContent]);
  const scrollToBottom = useCallback(() => step({ type: "to_end" }), [step]);
  return { isAtBottom, scrollToBottom };
}

const SCROLL_UP_KEYS = new Set(["ArrowUp", "PageUp", "Home"]);

function measureScroll({ scrollTop, scrollHeight, clientHeight }: HTMLElement): ScrollMetrics {
  return { top: scrollTop, height: scrollHeight, visible: clientHeight };
}
