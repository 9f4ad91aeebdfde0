/**
 * Older turns: loads them when asked or when the person comes near the top, and leaves what they read where it is when
 * they come.
 */
import type { HistoryView } from "@turnstream/client";
import { type RefObject, useCallback, useEffect, useLayoutEffect, useRef } from "react";
import { useShared } from "../context.ts";
import { useTurnIds } from "./use-turn.ts";
import { useView } from "./use-session-selector.ts";

export interface Older extends HistoryView {
  readonly load: () => void;
}

/** So near to the top one wants to read on. */
const NEAR = 160;

/** @param scroller holds the turns, each in an element with `data-turn` */
export function useOlder(scroller: RefObject<HTMLElement | null>): Older {
  const { session } = useShared();
  const older = useView((view) => view.history);
  const first = useTurnIds()[0];
  const anchor = useRef<{ readonly turn: string; readonly top: number } | null>(null);

  const load = useCallback(() => {
    const element = scroller.current;
    if (element !== null && first !== undefined) {
      anchor.current = { turn: first, top: topOf(element, first) };
      // Browsers that anchor by themselves would move it a second time.
      element.style.overflowAnchor = "none";
    }
    // What went wrong is in the view.
    session.loadMore().catch(() => {});
  }, [scroller, session, first]);

  useLayoutEffect(() => {
    const element = scroller.current;
    const kept = anchor.current;
    if (element === null || kept === null || kept.turn === first) return undefined;
    anchor.current = null;
    element.scrollTop += topOf(element, kept.turn) - kept.top;
    const frame = requestAnimationFrame(() => element.style.removeProperty("overflow-anchor"));
    return () => cancelAnimationFrame(frame);
  }, [scroller, first]);

  const canLoad = older.hasMore && !older.isLoading && older.error === null;
  useEffect(() => {
    const element = scroller.current;
    if (element === null || !canLoad) return undefined;
    let top = element.scrollTop;
    const onScroll = (): void => {
      const isUp = element.scrollTop < top;
      top = element.scrollTop;
      if (isUp && top < NEAR) load();
    };
    element.addEventListener("scroll", onScroll, { passive: true });
    return () => element.removeEventListener("scroll", onScroll);
  }, [scroller, canLoad, load]);
  return { ...older, load };
}

function topOf(scroller: HTMLElement, turn: string): number {
  return scroller.querySelector<HTMLElement>(`[data-turn="${CSS.escape(turn)}"]`)?.offsetTop ?? 0;
}
