/** `GalleryState` is a log, a position in it, and what the log doesn't contain, such as the connection. */
import type { AgentInfo, ClientError, ConnectionView, SessionView } from "@turnstream/client";
import type { SessionEvent } from "@turnstream/protocol";
import type { ComposerProps } from "@turnstream/react";

export interface GalleryState {
  /** `<component>/<state>`, as in the URL. */
  readonly name: string;
  readonly log: () => readonly SessionEvent[];
  /** The position, after an event: `<type>`, or `<type> <n>` for the nth of that type. @default the end of the log */
  readonly at?: string;
  /** How many of the last events before the position arrive after the first render, as in a running turn. @default 0 */
  readonly live?: number;
  /** State of the connection and the outbox. */
  readonly view?: Partial<SessionView>;
  /** The error with which commands fail. @default commands succeed */
  readonly refusal?: ClientError;
  /** How many seconds are left until the last deadline. @default the clock is at the last event */
  readonly leftSeconds?: number;
  /** What the user does after the state is rendered. */
  readonly act?: (root: HTMLElement) => void | Promise<void>;
  /**
   * What is shown: the turns, a whole thread with composer and banner, only the composer, a thread with the share
   * dialog, the page of a shared session, a page of the gateway (`renderPage`), the list of sessions, or a whole chat.
   */
  readonly shows?:
    | "turns"
    | "thread"
    | "composer"
    | "share-dialog"
    | "shared"
    | "page"
    | "session-list"
    | "chat";
  /** Returns the HTML of a page of the gateway. */
  readonly renderPage?: (locale: string) => string;
  /** What the server answers to the calls for shared sessions. */
  readonly sharing?: SharingState;
  /** What the server answers to the calls for the list of sessions. */
  readonly sessions?: SessionsState;
  /** Props of the composer. */
  readonly composer?: ComposerProps;
  /** Whether an empty thread has suggestions. */
  readonly hasSuggestions?: boolean;
}

interface SharingState {
  /** After how many days each link expires; null for never. */
  readonly links?: readonly (number | null)[];
  readonly hasMore?: boolean;
  readonly isLoading?: boolean;
  /** The error with which reading fails. */
  readonly error?: ClientError;
  /** The error with which creating, revoking and forking fail. */
  readonly refusal?: ClientError;
}

export interface SessionsState {
  /** The titles of the sessions; null for one without a title. */
  readonly titles?: readonly (string | null)[];
  readonly hasMore?: boolean;
  readonly isLoading?: boolean;
  /** The error with which loading fails. */
  readonly error?: ClientError;
  /** The error with which creating, renaming and deleting fail. */
  readonly refusal?: ClientError;
  /** The agents that the user can choose from. */
  readonly agents?: readonly AgentInfo[];
  /** Whether the chat is as narrow as a phone. */
  readonly isNarrow?: boolean;
}

/** A connection that has received nothing yet. */
export const CONNECTING: ConnectionView = {
  phase: "connecting",
  channel: null,
  failures: 0,
  retryAt: null,
  error: null,
  stalled: null,
};

/** Returns how many events of a log are folded at the position of a state. */
export function positionOf({ at }: GalleryState, events: readonly SessionEvent[]): number {
  if (at === undefined) return events.length;
  const [type, count = "1"] = at.split(" ");
  let seen = 0;
  const index = events.findIndex((event) => event.type === type && ++seen === Number(count));
  if (index < 0) throw new Error(`the log has no event ${at}`);
  return index + 1;
}

/** Expands everything, including what becomes visible. */
export async function openAll(root: HTMLElement): Promise<void> {
  for (let depth = 0; depth < 4; depth++) {
    for (const button of root.querySelectorAll<HTMLElement>("[aria-expanded=false]")) button.click();
    await new Promise((resolve) => requestAnimationFrame(resolve));
  }
}

/** Clicks the first element that matches a selector. */
export const press =
  (selector: string) =>
  (root: HTMLElement): void =>
    root.querySelector<HTMLElement>(selector)?.click();

/** Clicks elements one after the other, as soon as each is shown. The code of a chat loads after its first render. */
export const pressWhenShown =
  (...selectors: readonly string[]) =>
  async (root: HTMLElement): Promise<void> => {
    for (const selector of selectors) {
      const find = (): HTMLElement | null => root.querySelector<HTMLElement>(selector);
      while (find() === null) await new Promise((resolve) => requestAnimationFrame(resolve));
      find()?.click();
      await new Promise((resolve) => requestAnimationFrame(resolve));
    }
  };

/** Expands groups, but not their steps. */
export function openGroups(root: HTMLElement): void {
  for (const head of root.querySelectorAll<HTMLElement>(".ts-group-head[aria-expanded=false]")) head.click();
}

/** Collapses everything. */
export function closeAll(root: HTMLElement): void {
  for (const button of root.querySelectorAll<HTMLElement>("[aria-expanded=true]")) button.click();
}

/** Adds the component's prefix to the names of its states. */
export function of(
  component: string,
  states: Readonly<Record<string, Omit<GalleryState, "name">>>,
): GalleryState[] {
  return Object.entries(states).map(([name, state]) => ({ name: `${component}/${name}`, ...state }));
}
