/** Gives everything inside it a session, the words and the parts. Draws nothing of its own but the root of the styles. */
import type { Session } from "@turnstream/client";
import { createThreadStore } from "@turnstream/client/view";
import { type ReactNode, useMemo } from "react";
import type { Components } from "./components.ts";
import { type ThreadContext, ThreadReactContext } from "./context.ts";
import { DEFAULT_COMPONENTS } from "./default-components.ts";
import { createExpandedState } from "./expanded-state.ts";
import { type LinkPolicy, DEFAULT_LINK_POLICY } from "./link-policy.ts";
import { en } from "./strings/en/index.ts";
import type { Strings } from "./strings/strings.ts";

export interface SessionProviderProps {
  readonly session: Session;
  readonly children?: ReactNode;
  /** The words; English unless told. */
  readonly strings?: Strings;
  /** Parts to put in place of ours. Keep the object the same between renders. */
  readonly components?: Partial<Components>;
  readonly linkPolicy?: LinkPolicy;
  /** What people call the agents, by id; otherwise words are made from the id. */
  readonly agentNames?: Readonly<Record<string, string>>;
  /** What people are called, by the id they are signed in with; who is not in it is not named. */
  readonly userNames?: Readonly<Record<string, string>>;
  /** False switches single-key shortcuts off (such as A, to the next approval), for people who press keys by accident. */
  readonly shortcuts?: boolean;
  /** Light or dark whatever the page or the machine says. */
  readonly theme?: "light" | "dark";
}

const EMPTY_NAMES = {};

export function SessionProvider({
  session,
  children,
  strings = en,
  components,
  linkPolicy = DEFAULT_LINK_POLICY,
  agentNames = EMPTY_NAMES,
  userNames = EMPTY_NAMES,
  shortcuts = true,
  theme,
}: SessionProviderProps): ReactNode {
  const { store, expanded } = useMemo(
    () => ({ store: createThreadStore(session), expanded: createExpandedState() }),
    [session],
  );
  const context = useMemo<ThreadContext>(
    () => ({
      session,
      store,
      expanded,
      strings,
      components: { ...DEFAULT_COMPONENTS, ...components },
      linkPolicy,
      agentNames,
      userNames,
      shortcuts,
    }),
    [session, store, expanded, strings, components, linkPolicy, agentNames, userNames, shortcuts],
  );
  return (
    <ThreadReactContext value={context}>
      <div className="ts-root ts-provider" lang={strings.locale} data-theme={theme}>
        {children}
      </div>
    </ThreadReactContext>
  );
}
