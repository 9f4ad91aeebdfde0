/**
 * `ThreadContext` is the context that all parts of a thread share: the session, strings, components and link policy.
 * Invariant: it imports no component at run time, so every component can import it without a cycle. `useThreadContext`
 * throws outside of a `SessionProvider`.
 */
import type { Session } from "@turnstream/client";
import type { ThreadStore } from "@turnstream/client/view";
import { createContext, useContext } from "react";
import type { Components } from "./components.ts";
import type { MarkdownPlugin } from "./content/markdown-plugin.ts";
import type { ExpandedState } from "./expanded-state.ts";
import type { LinkPolicy } from "./link-policy.ts";
import type { Strings } from "./strings/strings.ts";

export interface ThreadContext {
  readonly session: Session;
  /** The same session, for subscriptions to its parts. */
  readonly store: ThreadStore;
  readonly expanded: ExpandedState;
  readonly strings: Strings;
  readonly components: Components;
  readonly linkPolicy: LinkPolicy;
  readonly markdownPlugins: readonly MarkdownPlugin[];
  /** Display names of agents, by id. */
  readonly agentNames: Readonly<Record<string, string>>;
  /** Display names of arguments of tools, by name. */
  readonly argumentNames: Readonly<Record<string, string>>;
  /**
   * Display names of users, by id. Users without a name here are not named, because an id means nothing to a reader.
   */
  readonly userNames: Readonly<Record<string, string>>;
  /** False disables single-key shortcuts, for users who press keys by accident. */
  readonly shortcuts: boolean;
  /** True if the reader can't change the session, such as a shared one. */
  readonly isReadOnly: boolean;
}

export const ThreadReactContext = createContext<ThreadContext | null>(null);

export function useThreadContext(): ThreadContext {
  const context = useContext(ThreadReactContext);
  if (context === null) throw new Error("This must be inside a <SessionProvider session={…}>.");
  return context;
}
