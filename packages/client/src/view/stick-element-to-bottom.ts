/**
 * `stickElementToBottom` keeps a scroll container at its end while the user reads there.
 * Invariant: it only measures and scrolls; `stepStickToBottom` decides. It jumps and never scrolls smoothly. After `stop`
 * it has no listener.
 */
import {
  type ScrollMetrics,
  stepStickToBottom,
  type StickToBottomInput,
  STUCK_TO_BOTTOM,
} from "./stick-to-bottom.ts";

export interface StickyElement {
  scrollToBottom(): void;
  stop(): void;
}

const SCROLL_UP_KEYS = new Set(["ArrowUp", "PageUp", "Home"]);

/**
 * Scrolls to the end at once.
 * @param content the growing element inside `scroller`
 * @param onChange called when the user leaves the end or returns to it
 */
export function stickElementToBottom(
  scroller: HTMLElement,
  content: HTMLElement,
  onChange: (isAtBottom: boolean) => void = () => {},
): StickyElement {
  let state = STUCK_TO_BOTTOM;
  const step = (input: StickToBottomInput): void => {
    const next = stepStickToBottom(state, input);
    const isChange = next.state.isAtBottom !== state.isAtBottom;
    state = next.state;
    if (isChange) onChange(state.isAtBottom);
    if (next.moveToEnd) scroller.scrollTop = scroller.scrollHeight;
  };
  const onSize = (): void => step({ type: "resized", at: measureScroll(scroller) });
  const abort = new AbortController();
  const listen = <Type extends keyof HTMLElementEventMap>(
    type: Type,
    listener: (event: HTMLElementEventMap[Type]) => void,
    options: AddEventListenerOptions = {},
  ): void => scroller.addEventListener(type, listener, { ...options, signal: abort.signal });
  listen("scroll", () => step({ type: "scrolled", at: measureScroll(scroller) }), { passive: true });
  listen(
    "wheel",
    ({ deltaY }) => {
      if (deltaY < 0 && scroller.scrollTop > 0) step({ type: "left" });
    },
    { passive: true },
  );
  listen("keydown", ({ target, key }) => {
    if (target === scroller && SCROLL_UP_KEYS.has(key)) step({ type: "left" });
  });
  // Content that the user expands stays in place instead of being pushed out of sight.
  listen(
    "click",
    ({ target }) => {
      if (!(target instanceof Element) || target.closest("[aria-expanded]") === null) return;
      step({ type: "left" });
      requestAnimationFrame(onSize);
    },
    { capture: true },
  );
  const sizes = new ResizeObserver(onSize);
  sizes.observe(content);
  sizes.observe(scroller);
  step({ type: "to_end" });
  return {
    scrollToBottom: () => step({ type: "to_end" }),
    stop() {
      abort.abort();
      sizes.disconnect();
    },
  };
}

function measureScroll({ scrollTop, scrollHeight, clientHeight }: HTMLElement): ScrollMetrics {
  return { top: scrollTop, height: scrollHeight, visible: clientHeight };
}
