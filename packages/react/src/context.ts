/** What every part of a thread shares: the session, the words, the parts, what may be loaded. Never imports a component. */
import type { Session } from "@turnstream/client";
import type { ThreadStore } from "@turnstream/client/view";
import { createContext, useContext } from "react";
import type { Components } from "./components.ts";
import type { ExpandedState } from "./expanded-state.ts";
import type { LinkPolicy } from "./link-policy.ts";
import type { Strings } from "./strings/strings.ts";

export interface ThreadContext {
  readonly session: Session;
  /** The same session, for readers of its parts. */
  readonly store: ThreadStore;
  readonly expanded: ExpandedState;
  readonly strings: Strings;
  readonly components: Components;
  readonly linkPolicy: LinkPolicy;
  /** What people call the agents, by id. */
  readonly agentNames: Readonly<Record<string, string>>;
  /** What people are called, by id. Who is not in it is not named: an id says nothing to anybody. */
  readonly userNames: Readonly<Record<string, string>>;
  /** False switches single-key shortcuts off, for people whose input presses keys by accident. */
  readonly shortcuts: boolean;
}

export const ThreadReactContext = createContext<ThreadContext | null>(null);

export function useThreadContext(): ThreadContext {
  const context = useContext(ThreadReactContext);
  if (context === null) throw new Error("Put this inside a <SessionProvider session={…}>.");
  return context;
}
