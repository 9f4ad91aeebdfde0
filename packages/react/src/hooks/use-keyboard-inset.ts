/** Tells the styles how much of the window an on-screen keyboard covers (`--ts-keyboard`), so that the composer stays above it. */
import { type RefObject, useEffect } from "react";

export function useKeyboardInset(root: RefObject<HTMLElement | null>): void {
  useEffect(() => {
    const viewport = globalThis.visualViewport ?? null;
    const element = root.current;
    if (viewport === null || element === null) return undefined;
    const onChange = (): void => {
      // A page that is zoomed in has a small viewport too, and no keyboard.
      const isZoomed = viewport.scale > 1.01;
      const below = element.getBoundingClientRect().bottom - viewport.height - viewport.offsetTop;
      const covered = isZoomed ? 0 : Math.max(0, Math.round(Math.min(below, innerHeight - viewport.height)));
      element.style.setProperty("--ts-keyboard", `${covered}px`);
    };
    viewport.addEventListener("resize", onChange);
    viewport.addEventListener("scroll", onChange);
    return () => {
      viewport.removeEventListener("resize", onChange);
      viewport.removeEventListener("scroll", onChange);
    };
  }, [root]);
}
