/** Whether something is open on the screen: as the person chose, or else as it is by default. */
import { useCallback, useSyncExternalStore } from "react";
import { useShared } from "../context.ts";

export function useOpen(
  turn: string,
  index: number,
  isOpenByDefault: boolean,
): readonly [isOpen: boolean, toggle: () => void] {
  const { choices } = useShared().store;
  const subscribe = useCallback(
    (listener: () => void) => choices.subscribe(turn, index, listener),
    [choices, turn, index],
  );
  const read = (): boolean | undefined => choices.get(turn, index);
  const isOpen = useSyncExternalStore(subscribe, read, read) ?? isOpenByDefault;
  return [isOpen, () => choices.set(turn, index, !isOpen)];
}
