/**
 * `usePart` marks the element of a part: its name as `data-part`, and the class that the app gives it. `Slot` renders
 * what an app adds at a place of the thread.
 * Invariant: the names of parts are public, listed in docs/react-parts.md and checked by a test. A part without a
 * provider above it has its own class only.
 */
import { type ComponentProps, type ComponentType, type ReactNode, useContext } from "react";
import type { BlockProps, TurnProps, UserMessageProps } from "./components.ts";
import { ThreadReactContext } from "./context.ts";
import { ErrorBoundary } from "./ui/error-boundary.tsx";

export type PartName =
  | "agent-header"
  | "announcer"
  | "approval-card"
  | "artifact"
  | "attach-button"
  | "attachments"
  | "bubble"
  | "chat"
  | "citation"
  | "code-block"
  | "composer"
  | "composer-input"
  | "connection-banner"
  | "dock"
  | "error-notice"
  | "file-progress"
  | "files"
  | "form-card"
  | "group"
  | "load-more"
  | "markdown"
  | "newest-button"
  | "payment-card"
  | "question-card"
  | "scroll"
  | "send-button"
  | "session-list"
  | "session-row"
  | "sources"
  | "stop-button"
  | "stopped-notice"
  | "sub-agent"
  | "suggestion"
  | "text"
  | "thinking"
  | "thread"
  | "tool-call"
  | "tool-panel"
  | "turn"
  | "turns"
  | "user-message"
  | "welcome"
  | "working";

/** Classes of an app, by part. */
export type ClassNames = Readonly<Partial<Record<PartName, string>>>;

export interface Part {
  readonly className: string;
  readonly "data-part": PartName | undefined;
}

/**
 * @param name undefined for an element that is no part
 * @param ownClass the class of our styles
 */
export function usePart(name: PartName | undefined, ownClass: string): Part {
  return markPart(useContext(ThreadReactContext)?.classNames, name, ownClass);
}

/** For a part outside of a thread. */
export function markPart(
  classNames: ClassNames | undefined,
  name: PartName | undefined,
  ownClass: string,
): Part {
  const added = name === undefined ? undefined : classNames?.[name];
  return { className: added === undefined ? ownClass : `${ownClass} ${added}`, "data-part": name };
}

/** What an app adds at places of the thread. Each has the ids of its place. */
export interface Slots {
  /** Above the first turn. */
  readonly ThreadStart: ComponentType;
  /** Below the last turn and the queued messages. */
  readonly ThreadEnd: ComponentType;
  /** Below a user message. */
  readonly MessageEnd: ComponentType<UserMessageProps>;
  /** Below the answer of a turn. */
  readonly TurnEnd: ComponentType<TurnProps>;
  /** Below each text of an agent. */
  readonly TextEnd: ComponentType<BlockProps>;
  /** Above the row of the composer. */
  readonly ComposerTop: ComponentType;
  /** In the row of the composer, before the text. */
  readonly ComposerStart: ComponentType;
  /** In the row of the composer, before the send button. */
  readonly ComposerEnd: ComponentType;
}

/** The name of a slot, and the props of its component. */
type SlotProps = {
  [Name in keyof Slots]: { readonly name: Name } & ComponentProps<Slots[Name]>;
}[keyof Slots];

export function Slot({ name, ...props }: SlotProps): ReactNode {
  const Own = useContext(ThreadReactContext)?.slots[name] as ComponentType<object> | undefined;
  if (Own === undefined) return null;
  return (
    <ErrorBoundary>
      <Own {...props} />
    </ErrorBoundary>
  );
}
