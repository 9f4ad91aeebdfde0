/**
 * Lets the steps of a running group slide up when an older one leaves, instead of jumping: they are drawn where they will
 * be, and moved back to where they were for a moment. By transforms only, and not at all for who wants less motion.
 */
import { type RefObject, useLayoutEffect, useRef } from "react";

const SLIDE = { duration: 220, easing: "cubic-bezier(0.2, 0, 0, 1)" };

/** @param first what stands first in the list; when it changes, the rest has moved up; undefined: nothing slides */
export function useSliding(list: RefObject<HTMLElement | null>, first: number | undefined): void {
  const was = useRef<{ first: number | undefined; step: number }>({ first, step: 0 });
  useLayoutEffect(() => {
    const element = list.current;
    if (element === null) return;
    const before = was.current;
    const head = element.firstElementChild;
    const moved = before.first !== undefined && first !== undefined && before.first !== first;
    // The height of what has left is what the others have moved by.
    const step = before.step;
    was.current = { first, step: head?.getBoundingClientRect().height ?? 0 };
    if (!moved || step === 0 || matchMedia("(prefers-reduced-motion: reduce)").matches) return;
    for (const child of element.children)
      child.animate([{ transform: `translateY(${step}px)` }, { transform: "none" }], SLIDE);
  });
}
