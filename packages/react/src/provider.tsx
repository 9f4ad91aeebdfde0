/**
 * `SessionProvider` provides the session and the choices of the app to everything inside it. It draws nothing.
 * Invariant: another session gets a new store and a new expanded state, and another session id a new draft. The
 * context changes only if a property changes; a record changes only if one of its entries does, so an app can write
 * records inline. It imports no component, so that a page loads only those that it draws.
 */
import { type ReactNode, useEffect, useMemo, useState } from "react";
import {
  type DraftScope,
  type SessionProviderProps,
  type ThreadContext,
  ThreadReactContext,
} from "./context.ts";
import { NO_PLUGINS } from "./content/markdown-plugin.ts";
import { DEFAULT_LINK_POLICY } from "./link-policy.ts";

const EMPTY = {};

export function SessionProvider({ children, session, ...options }: SessionProviderProps): ReactNode {
  const scope = useMemo(() => ({ session }), [session]);
  const draft = useMemo((): DraftScope => ({ close() {} }), [session.id]);
  useEffect(() => () => draft.close(), [draft]);
  const given: ThreadContext = {
    components: EMPTY,
    tools: EMPTY,
    artifacts: EMPTY,
    classNames: EMPTY,
    slots: EMPTY,
    agentNames: EMPTY,
    argumentNames: EMPTY,
    userNames: EMPTY,
    markdownPlugins: NO_PLUGINS,
    shortcuts: true,
    toolDetails: "auto",
    readOnly: false,
    theme: undefined,
    strings: undefined,
    ...withoutUndefined(options),
    linkPolicy: { ...(options.linkPolicy ?? DEFAULT_LINK_POLICY), gatewayUrl: session.gatewayUrl },
    session,
    scope,
    draft,
  };
  const [last, setLast] = useState(given);
  const context = keepSame(last, given);
  if (context !== last) setLast(context);
  return <ThreadReactContext.Provider value={context}>{children}</ThreadReactContext.Provider>;
}

/** An app may pass undefined for a default. */
function withoutUndefined<T extends object>(
  options: T,
): { readonly [Name in keyof T]?: NonNullable<T[Name]> } {
  return Object.fromEntries(Object.entries(options).filter(([, value]) => value !== undefined)) as T;
}

/** Returns the last context as long as it has the same entries, and the records of it that have. */
function keepSame(last: ThreadContext, next: ThreadContext): ThreadContext {
  const kept = { ...next };
  for (const key of Object.keys(next) as (keyof ThreadContext)[])
    if (isSame(last[key], next[key])) Object.assign(kept, { [key]: last[key] });
  return isSame(last, kept) ? last : kept;
}

/** Functions are the same only if they are identical. */
function isSame(one: unknown, other: unknown): boolean {
  if (typeof one !== "object" || typeof other !== "object" || one === null || other === null)
    return one === other;
  const before = new Map<string, unknown>(Object.entries(one));
  const entries = Object.entries(other);
  return entries.length === before.size && entries.every(([key, value]) => before.get(key) === value);
}
