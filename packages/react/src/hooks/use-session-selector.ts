/**
 * `useSessionSelector` returns a part of the session view and re-renders only when that part changes.
 * Invariant: a selector must return the same reference, or an equal primitive, for unchanged data. Otherwise React
 * re-renders in a loop.
 */
import type { ConnectionView, Session, SessionView } from "@turnstream/client";
import { useSyncExternalStore } from "react";
import { useThreadContext } from "../context.ts";

/** @param select must return the same reference (or an equal primitive) for unchanged data */
export function useSessionSelector<T>(select: (view: SessionView) => T): T {
  const { session } = useThreadContext();
  const read = (): T => select(session.getSnapshot());
  return useSyncExternalStore(session.subscribe, read, read);
}

/** Returns the session of the provider, for its commands. Never causes a re-render. */
export function useSession(): Session {
  return useThreadContext().session;
}

/** Returns the whole session view. Re-renders with every change. */
export function useSessionView(): SessionView {
  return useSessionSelector((view) => view);
}

export function useConnection(): ConnectionView {
  return useSessionSelector(({ connection }) => connection);
}
