/**
 * `useScrollEdges` marks an element that scrolls sideways: `data-wide` if its content is wider than the element, and
 * `data-more` with the sides on which content is hidden. The styles fade these sides.
 * Invariant: it sets attributes without a render, because scrolling must not render a thread.
 */
import { type RefObject, useEffect, useRef } from "react";

/** Browsers round sizes. */
const SLACK_PX = 1;

export function useScrollEdges<E extends HTMLElement>(): RefObject<E | null> {
  const scroller = useRef<E>(null);
  useEffect(() => {
    const element = scroller.current;
    // Some environments of tests have no ResizeObserver.
    if (element === null || typeof ResizeObserver === "undefined") return undefined;
    const mark = (): void => {
      const hidden = element.scrollWidth - element.clientWidth;
      const isRightToLeft = getComputedStyle(element).direction === "rtl";
      // Negative in right-to-left content.
      const left = isRightToLeft ? hidden + element.scrollLeft : element.scrollLeft;
      const sides = [...(left > SLACK_PX ? ["left"] : []), ...(hidden - left > SLACK_PX ? ["right"] : [])];
      element.toggleAttribute("data-wide", hidden > SLACK_PX);
      if (element.dataset["more"] !== sides.join(" ")) element.dataset["more"] = sides.join(" ");
    };
    const observer = new ResizeObserver(mark);
    observer.observe(element);
    if (element.firstElementChild !== null) observer.observe(element.firstElementChild);
    element.addEventListener("scroll", mark, { passive: true });
    return () => {
      observer.disconnect();
      element.removeEventListener("scroll", mark);
    };
  }, []);
  return scroller;
}
