/** A part of what a session shows, drawn anew only when that part is another. */
import type { SessionView } from "@turnstream/client";
import { useSyncExternalStore } from "react";
import { useShared } from "../context.ts";

/** @param select must give the same reference (or an equal primitive) for what hasn't changed */
export function useView<T>(select: (view: SessionView) => T): T {
  const { session } = useShared();
  const read = () => select(session.getSnapshot());
  return useSyncExternalStore(session.subscribe, read, read);
}
