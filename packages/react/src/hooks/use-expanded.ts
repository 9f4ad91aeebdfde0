/** Whether something is open on the screen: as the person chose, or else as it is by default. */
import { useCallback, useSyncExternalStore } from "react";
import { useShared } from "../context.ts";

export function useOpen(
  turn: string,
  index: number,
  isOpenByDefault: boolean,
): readonly [isOpen: boolean, toggle: () => void] {
  const { expanded } = useShared();
  const subscribe = useCallback(
    (listener: () => void) => expanded.subscribe(turn, index, listener),
    [expanded, turn, index],
  );
  const read = (): boolean | undefined => expanded.get(turn, index);
  const isOpen = useSyncExternalStore(subscribe, read, read) ?? isOpenByDefault;
  return [isOpen, () => expanded.set(turn, index, !isOpen)];
}
