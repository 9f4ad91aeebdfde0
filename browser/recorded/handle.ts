/** What a test can do with the page of recorded sessions, by `window.recorded`. Types only. */
import type { SessionView } from "@turnstream/client";
import type { SessionEvent } from "@turnstream/protocol";

export interface Recorded {
  /** Draws a session as it stands after these events; with a server's HTML, takes that over instead. */
  start(events: readonly SessionEvent[], html?: string): void;
  /** Loads what otherwise comes later, as a page does that takes over from a server which did so too; settles once it is drawn. */
  preload(): Promise<void>;
  /** Draws another session in the same place. */
  swap(events: readonly SessionEvent[], id: string): void;
  /** From now on, and until told another, parts of this name throw; "" for none. */
  spoil(part: string): void;
  /** What the next commands are refused with; null: they succeed. */
  refuse(code: string | null): void;
  append(events: readonly SessionEvent[]): void;
  show(view: Partial<SessionView>): void;
  /** Puts other turns in place, as JSON, and says whether there are older ones. */
  showTurns(turns: string, hasMore: boolean): void;
  /** How often each part was drawn since this was last asked, by name and place. */
  drawn(): Readonly<Record<string, number>>;
  /** What was asked of the session, by name. */
  readonly commands: (readonly [name: string, ...args: unknown[]])[];
  /** What React could mend by itself while it took over. */
  readonly mended: string[];
}

declare global {
  interface Window {
    recorded?: Recorded;
  }
}
