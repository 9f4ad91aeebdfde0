/**
 * `ThreadContext` is the context that all parts of a thread share: the session, strings, components and link policy.
 * `CallPlaceContext` is where a tool call is shown.
 * Invariant: it imports no component at run time, so every component can import it without a cycle. `useThreadContext`
 * throws outside of a `SessionProvider`.
 */
import type { Session } from "@turnstream/client";
import type { ComposerStore, ExpandedState, ThreadStore } from "@turnstream/client/view";
import { createContext, useContext } from "react";
import type { ClassNames, Components, Names, Slots } from "./components.ts";
import type { MarkdownPlugin } from "./content/markdown-plugin.ts";
import type { LinkRules } from "./link-policy.ts";
import type { ArtifactComponents, ToolComponents } from "./own-components.ts";
import type { Strings } from "./strings/strings.ts";

/**
 * When the arguments and the result of a tool call are shown. auto: while a call outside of groups runs. closed: when
 * the user opens the call. open: at first for every call, for debugging. hidden: never.
 */
export type ToolDetails = "auto" | "closed" | "open" | "hidden";

export interface ThreadContext {
  readonly session: Session;
  /** The same session, for subscriptions to its parts. */
  readonly store: ThreadStore;
  readonly expanded: ExpandedState;
  /** The message that the user writes. */
  readonly composer: ComposerStore;
  readonly strings: Strings;
  readonly components: Components;
  /** The app's components for single tools, by name. */
  readonly tools: ToolComponents;
  /** The app's components for types of artifacts. */
  readonly artifacts: ArtifactComponents;
  readonly classNames: ClassNames;
  readonly slots: Partial<Slots>;
  readonly linkPolicy: LinkRules;
  readonly markdownPlugins: readonly MarkdownPlugin[];
  /** Display names of agents, by id. */
  readonly agentNames: Names;
  /** Display names of arguments of tools, by name. */
  readonly argumentNames: Names;
  /**
   * Display names of users, by id. Users without a name here are not named, because an id means nothing to a reader.
   */
  readonly userNames: Names;
  /** False disables single-key shortcuts, for users who press keys by accident. */
  readonly shortcuts: boolean;
  readonly toolDetails: ToolDetails;
  /** True if the reader can't change the session, such as a shared one. */
  readonly isReadOnly: boolean;
}

export const ThreadReactContext = createContext<ThreadContext | null>(null);

/** Where a call is shown: in the turn itself, in a group, or among the steps of a sub-agent. */
export type CallPlace = "turn" | "group" | "run";

export const CallPlaceContext = createContext<CallPlace>("turn");

export function useThreadContext(): ThreadContext {
  const context = useContext(ThreadReactContext);
  if (context === null) throw new Error("This must be inside a <SessionProvider session={…}>.");
  return context;
}
