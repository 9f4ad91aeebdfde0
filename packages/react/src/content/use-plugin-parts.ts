/**
 * `usePluginParts` returns the parts of a plugin, and starts to load them.
 * Invariant: null until they are loaded, also in the hydration render.
 */
import { useEffect, useSyncExternalStore } from "react";
import type { MarkdownPlugin, PluginParts } from "./markdown-plugin.ts";

const noSubscription = () => () => {};
const getNothing = () => null;

export function usePluginParts(plugin: MarkdownPlugin | undefined): PluginParts | null {
  const parts = plugin?.parts;
  useEffect(() => void parts?.load(), [parts]);
  return useSyncExternalStore(
    parts?.subscribe ?? noSubscription,
    parts?.get ?? getNothing,
    parts?.getForHydration ?? getNothing,
  );
}
