/**
 * `ThreadContext` is what everything inside a `SessionProvider` shares: the session, the strings, and what the app has
 * chosen. `ThreadPartsContext` is what the parts of a thread share besides, and `CallPlaceContext` is where a tool call
 * is shown.
 * Invariant: it imports no component at run time, so every component can import it without a cycle, and a page that
 * draws everything itself doesn't load ours.
 */
import type { Session } from "@turnstream/client";
import { createContext, type ReactNode, type RefObject, useContext } from "react";
import type { ClassNames, Components, Names, Slots } from "./components.ts";
import type { MarkdownPlugin } from "./content/markdown-plugin.ts";
import type { LinkPolicy, LinkRules } from "./link-policy.ts";
import type { ArtifactComponents, ToolComponents } from "./own-components.ts";
import type { StringChanges } from "./strings/extend-strings.ts";
import type { Strings } from "./strings/en.ts";

/**
 * When the arguments and the result of a tool call are shown. auto: while a call outside of groups runs. closed: when
 * the user opens the call. open: at first for every call, for debugging. hidden: never.
 */
export type ToolDetails = "auto" | "closed" | "open" | "hidden";

/** What an app can choose for a session. */
interface SessionOptions {
  /** Components that replace the default ones. */
  readonly components: Partial<Components>;
  /** Components for single tools, by the name of the tool. They stay visible when their group collapses. */
  readonly tools: ToolComponents;
  /** Components for types of artifacts, such as `x-weather`. They stay visible when their group collapses. */
  readonly artifacts: ArtifactComponents;
  /** Classes that are added to parts, by the name of the part. */
  readonly classNames: ClassNames;
  /** Components that are added at places of the thread. */
  readonly slots: Partial<Slots>;
  /** Display names of agents, by id. @default a name derived from the id */
  readonly agentNames: Names;
  /** Display names of arguments of tools, for approvals. @default a name derived from that of the argument */
  readonly argumentNames: Names;
  /** Display names of users, by id. Users without a name are not named, because an id means nothing to a reader. */
  readonly userNames: Names;
  /** Optional parts of the Markdown renderer, such as `highlight()`. Keep the list stable between renders. */
  readonly markdownPlugins: readonly MarkdownPlugin[];
  /**
   * False disables single-key shortcuts (such as A, to the next approval), for users who press keys by accident.
   * @default true
   */
  readonly shortcuts: boolean;
  /**
   * When the arguments and the result of a tool call are shown. `auto`: while a call outside of groups runs, then after
   * a click. `closed`: after a click. `open`: at first for every call, for debugging. `hidden`: never.
   * @default "auto"
   */
  readonly toolDetails: ToolDetails;
  /** True hides what would change the session, for sessions of other users. @default false */
  readonly readOnly: boolean;
  /** Forces the light or dark theme. @default the theme of the page or the system */
  readonly theme: "light" | "dark" | undefined;
}

export interface SessionProviderProps extends Partial<SessionOptions> {
  readonly session: Session;
  readonly children?: ReactNode;
  /** The UI strings, or some of them; the others are English. Keep the object stable between renders. @default English */
  readonly strings?: StringChanges<Strings>;
  readonly linkPolicy?: LinkPolicy;
}

/** What the hooks keep for a provider and a session. They create it when they first need it: see stores.ts. */
export interface SessionScope {
  readonly session: Session;
}

/** Like `SessionScope`, for a session that becomes another object when it is created on the server. */
export interface DraftScope {
  /** Ends what was created. */
  close: () => void;
}

export interface ThreadContext extends SessionOptions {
  readonly session: Session;
  readonly scope: SessionScope;
  readonly draft: DraftScope;
  /** As the app gave them: `useStrings` adds the missing ones. */
  readonly strings: StringChanges<Strings> | undefined;
  readonly linkPolicy: LinkRules;
}

export const ThreadReactContext = createContext<ThreadContext | null>(null);

export function useThreadContext(): ThreadContext {
  const context = useContext(ThreadReactContext);
  if (context === null) throw new Error("This must be inside a <SessionProvider session={…}>.");
  return context;
}

export interface ThreadParts {
  /** The default components, or those of the app. */
  readonly components: Components;
  /** The root element of the thread, or null before the first render has ended. */
  readonly root: RefObject<HTMLElement | null>;
}

export const ThreadPartsContext = createContext<ThreadParts | null>(null);

export function useThreadParts(): ThreadParts {
  const parts = useContext(ThreadPartsContext);
  if (parts === null) throw new Error("This must be inside a <Thread> or a <ThreadRoot>.");
  return parts;
}

/** Where a call is shown: in the turn itself, in a group, or among the steps of a sub-agent. */
export type CallPlace = "turn" | "group" | "run";

export const CallPlaceContext = createContext<CallPlace>("turn");
