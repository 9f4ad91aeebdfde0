/**
 * `SessionProvider` provides the session, strings and components to everything inside it. It renders only the root
 * element of the styles.
 * Invariant: another session gets a new store and a new expanded state. The context changes only if a property changes,
 * so unstable properties re-render the whole thread.
 */
import type { Session } from "@turnstream/client";
import { createThreadStore } from "@turnstream/client/view";
import { type ReactNode, useMemo } from "react";
import type { Components } from "./components.ts";
import { type ThreadContext, ThreadReactContext } from "./context.ts";
import { type MarkdownPlugin, NO_PLUGINS } from "./content/markdown-plugin.ts";
import { DEFAULT_COMPONENTS } from "./default-components.ts";
import { createExpandedState } from "./expanded-state.ts";
import { type LinkPolicy, DEFAULT_LINK_POLICY } from "./link-policy.ts";
import { en } from "./strings/en/index.ts";
import type { Strings } from "./strings/strings.ts";

export interface SessionProviderProps {
  readonly session: Session;
  readonly children?: ReactNode;
  /** The UI strings. @default English */
  readonly strings?: Strings;
  /** Components that replace the default ones. Keep the object stable between renders. */
  readonly components?: Partial<Components>;
  readonly linkPolicy?: LinkPolicy;
  /** Optional parts of the Markdown renderer, such as `highlight()`. Keep the list stable between renders. */
  readonly markdownPlugins?: readonly MarkdownPlugin[];
  /** Display names of agents, by id. @default a name derived from the id */
  readonly agentNames?: Readonly<Record<string, string>>;
  /** Display names of arguments of tools, for approvals. @default a name derived from that of the argument */
  readonly argumentNames?: Readonly<Record<string, string>>;
  /** Display names of users, by user id. Users without a name here are not named. */
  readonly userNames?: Readonly<Record<string, string>>;
  /**
   * False disables single-key shortcuts (such as A, to the next approval), for users who press keys by accident.
   * @default true
   */
  readonly shortcuts?: boolean;
  /** True hides what would change the session, for sessions of other users. @default false */
  readonly readOnly?: boolean;
  /** Forces the light or dark theme. @default the theme of the page or the system */
  readonly theme?: "light" | "dark";
}

const EMPTY_NAMES = {};

export function SessionProvider({
  session,
  children,
  strings = en,
  components,
  linkPolicy = DEFAULT_LINK_POLICY,
  markdownPlugins = NO_PLUGINS,
  agentNames = EMPTY_NAMES,
  argumentNames = EMPTY_NAMES,
  userNames = EMPTY_NAMES,
  shortcuts = true,
  readOnly: isReadOnly = false,
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
      markdownPlugins,
      agentNames,
      argumentNames,
      userNames,
      shortcuts,
      isReadOnly,
    }),
    [
      session,
      store,
      expanded,
      strings,
      components,
      linkPolicy,
      markdownPlugins,
      agentNames,
      argumentNames,
      userNames,
      shortcuts,
      isReadOnly,
    ],
  );
  return (
    <ThreadReactContext value={context}>
      <div className="ts-root ts-provider" lang={strings.locale} data-theme={theme}>
        {children}
      </div>
    </ThreadReactContext>
  );
}
