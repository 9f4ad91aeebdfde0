/**
 * `useExpanded` returns whether something is expanded: as the user chose, otherwise by default. `useWhile` is a default
 * for what is expanded only while it runs.
 * Invariant: after the first toggle, a change of the default has no effect. Only the toggled item re-renders.
 */
import { useCallback, useEffect, useState, useSyncExternalStore } from "react";
import { useExpandedState } from "./stores.ts";

export function useExpanded(
  turnId: string,
  blockIndex: number,
  isExpandedByDefault: boolean,
): readonly [isExpanded: boolean, toggle: () => void] {
  const expanded = useExpandedState();
  const subscribe = useCallback(
    (listener: () => void) => expanded.subscribe(turnId, blockIndex, listener),
    [expanded, turnId, blockIndex],
  );
  const read = (): boolean | undefined => expanded.get(turnId, blockIndex);
  const isExpanded = useSyncExternalStore(subscribe, read, read) ?? isExpandedByDefault;
  return [isExpanded, () => expanded.set(turnId, blockIndex, !isExpanded)];
}

const FOLD_AFTER_MS = 300;

/** True while it runs and shortly after. False from the start if it had ended before it was shown. */
export function useWhile(isRunning: boolean): boolean {
  const [isStill, setStill] = useState(isRunning);
  useEffect(() => {
    if (isRunning) {
      setStill(true);
      return undefined;
    }
    const timer = setTimeout(() => setStill(false), FOLD_AFTER_MS);
    return () => clearTimeout(timer);
  }, [isRunning]);
  return isRunning || isStill;
}
