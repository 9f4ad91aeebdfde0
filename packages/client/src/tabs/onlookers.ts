/**
 * Who looks at the tabs that share a connection: it is asked whether it is there as long as anybody looks at any of them,
 * not only at the tab that has it. Never says anything itself.
 */
import type { Outside } from "../options.ts";

export interface Onlookers {
  /** What the connection sees: hidden only while nobody looks at any tab. */
  readonly outside: Outside;
  heard(tab: string, isVisible: boolean): void;
}

/** @param own what the tab with the connection sees */
export function createOnlookers(own: Outside): Onlookers {
  const looking = new Set<string>();
  const listeners = new Set<() => void>();
  return {
    outside: {
      isPage: own.isPage,
      isOnline: () => own.isOnline(),
      isHidden: () => own.isHidden() && looking.size === 0,
      onChange(changed) {
        const stop = own.onChange(changed);
        listeners.add(changed);
        return () => {
          stop();
          listeners.delete(changed);
        };
      },
    },
    heard(tab, isVisible) {
      if (looking.has(tab) === isVisible) return;
      if (isVisible) looking.add(tab);
      else looking.delete(tab);
      for (const changed of listeners) changed();
    },
  };
}
