/** Older turns: loads them when asked, and leaves what the person reads where it is when they come. */
import { type RefObject, useLayoutEffect, useRef } from "react";
import type { OlderView } from "@turnstream/client";
import { useShared } from "../context.ts";
import { useTurnIds } from "./use-block.ts";
import { useView } from "./use-view.ts";

export interface Older extends OlderView {
  readonly load: () => void;
}

export function useOlder(scroller: RefObject<HTMLElement | null>): Older {
  const { session } = useShared();
  const older = useView((view) => view.older);
  const first = useTurnIds()[0];
  const was = useRef<{ first: string | undefined; fromEnd: number }>({ first, fromEnd: 0 });
  useLayoutEffect(() => {
    const element = scroller.current;
    if (element === null) return undefined;
    const { first: before, fromEnd } = was.current;
    if (before !== undefined && before !== first && fromEnd > 0)
      element.scrollTop = element.scrollHeight - fromEnd;
    was.current = { first, fromEnd: 0 };
    return undefined;
  }, [scroller, first]);
  const load = (): void => {
    const element = scroller.current;
    if (element !== null) was.current = { first, fromEnd: element.scrollHeight - element.scrollTop };
    void session.loadOlder().catch(() => {});
  };
  return { ...older, load };
}
