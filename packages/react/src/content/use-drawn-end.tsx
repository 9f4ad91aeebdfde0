/**
 * `useDrawnEnd` returns up to which offset a text is drawn as Markdown. It starts with one slice, and each later task
 * adds one, until the text is complete. `PlainRest` shows the text after it.
 * Invariant: the first render depends only on the text, so that it equals the server's. One task draws one slice of one
 * answer, so that the page handles input between slices.
 */
import { type ReactNode, useEffect, useReducer, useRef } from "react";
import { findCut, findSliceEnd } from "./render-cost.ts";
import { scheduleTask } from "./schedule-task.ts";

/** @param text a change of drawn text starts over */
export function useDrawnEnd(text: string): number {
  const drawn = useRef("");
  const [, redraw] = useReducer((count: number) => count + 1, 0);
  const from = text.startsWith(drawn.current) ? drawn.current.length : 0;
  const end = findSliceEnd(text, from);
  useEffect(() => {
    drawn.current = text.slice(0, end);
    return end < text.length ? scheduleTask(redraw) : undefined;
  }, [text, end]);
  return end;
}

const PART_CHARS = 4_096;

interface PlainRestProps {
  readonly text: string;
  readonly from: number;
}

/** In parts that start at the same offsets every time, so that a browser doesn't lay out the whole rest again. */
export function PlainRest({ text, from }: PlainRestProps): ReactNode[] {
  const parts: ReactNode[] = [];
  let at = from;
  for (let n = Math.floor(from / PART_CHARS); at < text.length; n++) {
    const end = findCut(text, n * PART_CHARS, (n + 1) * PART_CHARS);
    if (end <= at) continue;
    parts.push(
      <p key={n} className="ts-plain">
        {text.slice(at, end)}
      </p>,
    );
    at = end;
  }
  return parts;
}
