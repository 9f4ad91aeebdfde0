/**
 * `useHistory` loads older turns on request or near the top of the scroll area.
 * Invariant: the visible content keeps its position when older turns are added above it.
 */
import type { HistoryView } from "@turnstream/client";
import { type RefObject, useCallback, useEffect, useRef } from "react";
import { useThreadContext } from "../context.ts";
import { useIsomorphicLayoutEffect } from "./use-isomorphic-layout-effect.ts";
import { useTurnIds } from "./use-turn.ts";
import { useSessionSelector } from "./use-session-selector.ts";

export interface ThreadHistory extends HistoryView {
  readonly loadMore: () => void;
}

/** Older turns load when the user scrolls this close to the top. */
const NEAR_TOP_PX = 160;

/** @param scroller the scroll container of the turns; each turn is an element with `data-turn` */
export function useHistory(scroller: RefObject<HTMLElement | null>): ThreadHistory {
  const { session } = useThreadContext();
  const history = useSessionSelector((view) => view.history);
  const first = useTurnIds()[0];
  const anchor = useRef<{ readonly turnId: string; readonly top: number } | null>(null);

  const loadMore = useCallback(() => {
    const element = scroller.current;
    if (element !== null && first !== undefined) {
      anchor.current = { turnId: first, top: measureTop(element, first) };
      // Prevents browsers with scroll anchoring from moving it a second time.
      element.style.overflowAnchor = "none";
    }
    // The view contains the error.
    session.loadMore().catch(() => {});
  }, [scroller, session, first]);

  useIsomorphicLayoutEffect(() => {
    const element = scroller.current;
    const saved = anchor.current;
    if (element === null || saved === null || saved.turnId === first) return undefined;
    anchor.current = null;
    element.scrollTop += measureTop(element, saved.turnId) - saved.top;
    const frame = requestAnimationFrame(() => element.style.removeProperty("overflow-anchor"));
    return () => cancelAnimationFrame(frame);
  }, [scroller, first]);

  const canLoad = history.hasMore && !history.isLoading && history.error === null;
  useEffect(() => {
    const element = scroller.current;
    if (element === null || !canLoad) return undefined;
    let top = element.scrollTop;
    const onScroll = (): void => {
      const isUp = element.scrollTop < top;
      top = element.scrollTop;
      if (isUp && top < NEAR_TOP_PX) loadMore();
    };
    element.addEventListener("scroll", onScroll, { passive: true });
    return () => element.removeEventListener("scroll", onScroll);
  }, [scroller, canLoad, loadMore]);
  return { ...history, loadMore };
}

function measureTop(scroller: HTMLElement, turnId: string): number {
  return scroller.querySelector<HTMLElement>(`[data-turn="${CSS.escape(turnId)}"]`)?.offsetTop ?? 0;
}
