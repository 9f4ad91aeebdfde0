/** What a state of the gallery is: a log, where to stand in it, and what the log doesn't know. */
import type { ClientError, ConnectionView, SessionView } from "@turnstream/client";
import type { SessionEvent } from "@turnstream/protocol";

export interface GalleryState {
  /** `<component>/<state>`, as in addresses. */
  readonly name: string;
  readonly log: () => readonly SessionEvent[];
  /** After which event it stands: `<type>`, or `<type> <n>` for the nth of that type. Unless told, at the end. */
  readonly at?: string;
  /** How many of the events before that come only after the first drawing, as they do in a running turn. */
  readonly live?: number;
  /** What the connection and the outbox add. */
  readonly view?: Partial<SessionView>;
  /** What commands are refused with; unless told, they succeed. */
  readonly refusal?: ClientError;
  /** How many seconds are left of the last deadline. Unless told, the clock stands at the last event. */
  readonly leftSeconds?: number;
  /** What a person does once it is drawn. */
  readonly act?: (root: HTMLElement) => void | Promise<void>;
  /** What is shown: the turns, a whole thread with what is around it, or the composer by itself. */
  readonly shows?: "turns" | "thread" | "composer";
  readonly isDisabled?: boolean;
}

/** A connection before anything has come. */
export const CONNECTING: ConnectionView = {
  phase: "connecting",
  channel: null,
  failures: 0,
  retryAt: null,
  error: null,
};

/** How many events of a log are folded in where a state stands. */
export function positionOf({ at }: GalleryState, events: readonly SessionEvent[]): number {
  if (at === undefined) return events.length;
  const [type, count = "1"] = at.split(" ");
  let seen = 0;
  const index = events.findIndex((event) => event.type === type && ++seen === Number(count));
  if (index < 0) throw new Error(`there is no ${at} in the log`);
  return index + 1;
}

/** Opens whatever is closed, and what that brings to light. */
export async function openAll(root: HTMLElement): Promise<void> {
  for (let depth = 0; depth < 4; depth++) {
    for (const button of root.querySelectorAll<HTMLElement>("[aria-expanded=false]")) button.click();
    await new Promise((resolve) => requestAnimationFrame(resolve));
  }
}

/** Presses the first of what a selector finds. */
export const press =
  (selector: string) =>
  (root: HTMLElement): void =>
    root.querySelector<HTMLElement>(selector)?.click();

/** Opens groups, and leaves their steps as they are. */
export function openGroups(root: HTMLElement): void {
  for (const head of root.querySelectorAll<HTMLElement>(".ts-group-head[aria-expanded=false]")) head.click();
}

/** Closes whatever is open. */
export function closeAll(root: HTMLElement): void {
  for (const button of root.querySelectorAll<HTMLElement>("[aria-expanded=true]")) button.click();
}

/** States by component: the names get its prefix. */
export function of(
  component: string,
  states: Readonly<Record<string, Omit<GalleryState, "name">>>,
): GalleryState[] {
  return Object.entries(states).map(([name, state]) => ({ name: `${component}/${name}`, ...state }));
}
