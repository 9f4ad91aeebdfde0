/**
 * `Recorded` is the interface of `window.recorded`, with which a test controls the page of recorded sessions. Types
 * only.
 */
import type { SessionView } from "@turnstream/client";
import type { SessionEvent } from "@turnstream/protocol";

export interface Recorded {
  /** Renders a session after these events. With a server's HTML, hydrates that instead. */
  start(events: readonly SessionEvent[], html?: string): void;
  /**
   * Loads lazy parts, and resolves when they are loaded. A page must do this before it hydrates HTML of a server that
   * preloaded them.
   */
  preload(): Promise<void>;
  /** Renders another session in the same place. */
  swap(events: readonly SessionEvent[], id: string): void;
  /** Makes components of this name throw until the next call; "" for none. */
  spoil(part: string): void;
  /** The error code of the next commands; null if they succeed. */
  refuse(code: string | null): void;
  append(events: readonly SessionEvent[]): void;
  show(view: Partial<SessionView>): void;
  /** Replaces the turns (as JSON), and sets whether there are older ones. */
  showTurns(turns: string, hasMore: boolean): void;
  /** How often each component was rendered since the last call, by name and index. */
  drawn(): Readonly<Record<string, number>>;
  /** The commands sent to the session, by name. */
  readonly commands: (readonly [name: string, ...args: unknown[]])[];
  /** Errors that React recovered from during hydration. */
  readonly mended: string[];
}

declare global {
  interface Window {
    recorded?: Recorded;
  }
}
