/**
 * `SessionProvider` provides the session, strings and components to everything inside it. It renders only the root
 * element of the styles.
 * Invariant: another session gets a new store and a new expanded state, and another session id a new draft. The
 * context changes only if a property changes; a record changes only if one of its entries does, so an app can write
 * records inline.
 */
import type { Session } from "@turnstream/client";
import { createComposerStore, createExpandedState, createThreadStore } from "@turnstream/client/view";
import { type ReactNode, useEffect, useMemo, useRef } from "react";
import type { ClassNames, Components, Names, Slots } from "./components.ts";
import { type ThreadContext, ThreadReactContext, type ToolDetails } from "./context.ts";
import { type MarkdownPlugin, NO_PLUGINS } from "./content/markdown-plugin.ts";
import { DEFAULT_COMPONENTS } from "./default-components.ts";
import { type LinkPolicy, DEFAULT_LINK_POLICY } from "./link-policy.ts";
import type { ArtifactComponents, ToolComponents } from "./own-components.ts";
import { resolveStrings, type StringChanges } from "./strings/extend-strings.ts";
import type { Strings } from "./strings/strings.ts";

export interface SessionProviderProps {
  readonly session: Session;
  readonly children?: ReactNode;
  /** The UI strings, or some of them; the others are English. Keep the object stable between renders. @default English */
  readonly strings?: StringChanges<Strings>;
  /** Components that replace the default ones. */
  readonly components?: Partial<Components>;
  /** Components for single tools, by the name of the tool. They stay visible when their group collapses. */
  readonly tools?: ToolComponents;
  /** Components for types of artifacts, such as `x-weather`. They stay visible when their group collapses. */
  readonly artifacts?: ArtifactComponents;
  /** Classes that are added to parts, by the name of the part. */
  readonly classNames?: ClassNames;
  /** Components that are added at places of the thread. */
  readonly slots?: Partial<Slots>;
  readonly linkPolicy?: LinkPolicy;
  /** Optional parts of the Markdown renderer, such as `highlight()`. Keep the list stable between renders. */
  readonly markdownPlugins?: readonly MarkdownPlugin[];
  /** Display names of agents, by id. @default a name derived from the id */
  readonly agentNames?: Names;
  /** Display names of arguments of tools, for approvals. @default a name derived from that of the argument */
  readonly argumentNames?: Names;
  /** Display names of users, by user id. Users without a name here are not named. */
  readonly userNames?: Names;
  /**
   * False disables single-key shortcuts (such as A, to the next approval), for users who press keys by accident.
   * @default true
   */
  readonly shortcuts?: boolean;
  /**
   * When the arguments and the result of a tool call are shown. `auto`: while a call outside of groups runs, then after
   * a click. `closed`: after a click. `open`: at first for every call, for debugging. `hidden`: never.
   * @default "auto"
   */
  readonly toolDetails?: ToolDetails;
  /** True hides what would change the session, for sessions of other users. @default false */
  readonly readOnly?: boolean;
  /** Forces the light or dark theme. @default the theme of the page or the system */
  readonly theme?: "light" | "dark";
}

const EMPTY = {};

/** Returns the previous record as long as it has the same entries. A function is returned as it is. */
function useSameRecord<T extends object>(record: T): T {
  const last = useRef(record);
  const before = last.current as Readonly<Record<string, unknown>>;
  const entries = Object.entries(record);
  const isSame =
    typeof record === "object" &&
    typeof before === "object" &&
    entries.length === Object.keys(before).length &&
    entries.every(([key, value]) => before[key] === value);
  if (!isSame) last.current = record;
  return last.current;
}

export function SessionProvider({
  session,
  children,
  linkPolicy = DEFAULT_LINK_POLICY,
  markdownPlugins = NO_PLUGINS,
  shortcuts = true,
  toolDetails = "auto",
  readOnly: isReadOnly = false,
  theme,
  ...records
}: SessionProviderProps): ReactNode {
  const strings = resolveStrings(records.strings);
  const { store, expanded } = useMemo(
    () => ({ store: createThreadStore(session), expanded: createExpandedState() }),
    [session],
  );
  const composer = useMemo(() => createComposerStore(), [session.id]);
  useEffect(() => () => composer.close(), [composer]);
  const components = useSameRecord(records.components ?? EMPTY);
  const tools = useSameRecord(records.tools ?? EMPTY);
  const artifacts = useSameRecord(records.artifacts ?? EMPTY);
  const classNames = useSameRecord(records.classNames ?? EMPTY);
  const slots = useSameRecord(records.slots ?? EMPTY);
  const agentNames = useSameRecord(records.agentNames ?? EMPTY);
  const argumentNames = useSameRecord(records.argumentNames ?? EMPTY);
  const userNames = useSameRecord(records.userNames ?? EMPTY);
  const context = useSameRecord<ThreadContext>({
    session,
    store,
    expanded,
    composer,
    strings,
    components: useMemo(() => ({ ...DEFAULT_COMPONENTS, ...components }), [components]),
    tools,
    artifacts,
    classNames,
    slots,
    linkPolicy: useSameRecord({ ...linkPolicy, gatewayUrl: session.gatewayUrl }),
    markdownPlugins,
    agentNames,
    argumentNames,
    userNames,
    shortcuts,
    toolDetails,
    isReadOnly,
  });
  return (
    <ThreadReactContext.Provider value={context}>
      <div className="ts-root ts-provider" lang={strings.locale} data-theme={theme}>
        {children}
      </div>
    </ThreadReactContext.Provider>
  );
}
