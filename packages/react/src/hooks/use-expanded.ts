/**
 * `useExpanded` returns whether something is expanded: as the user chose, otherwise by default.
 * Invariant: after the first toggle, a change of the default has no effect. Only the toggled item re-renders.
 */
import { useCallback, useSyncExternalStore } from "react";
import { useThreadContext } from "../context.ts";

export function useExpanded(
  turnId: string,
  blockIndex: number,
  isExpandedByDefault: boolean,
): readonly [isExpanded: boolean, toggle: () => void] {
  const { expanded } = useThreadContext();
  const subscribe = useCallback(
    (listener: () => void) => expanded.subscribe(turnId, blockIndex, listener),
    [expanded, turnId, blockIndex],
  );
  const read = (): boolean | undefined => expanded.get(turnId, blockIndex);
  const isExpanded = useSyncExternalStore(subscribe, read, read) ?? isExpandedByDefault;
  return [isExpanded, () => expanded.set(turnId, blockIndex, !isExpanded)];
}
