/** `LiveView` is what the page of a live session exposes to its tests. Types only. */
import type { ConnectionView, PendingMessage, Session } from "@turnstream/client";

export interface LiveView {
  /** The position of the page in the log. */
  readonly cursor: string;
  readonly phase: ConnectionView["phase"];
  readonly wire: "websocket" | "sse" | null;
  readonly failures: number;
  readonly outbox: readonly Pick<PendingMessage, "id" | "text" | "status">[];
  readonly turns: readonly string[];
  readonly error: string | null;
}

declare global {
  interface Window {
    /** Set by the test before the page is loaded. */
    turnstreamToken?: string;
    turnstream?: { readonly session: Session; view(): LiveView };
  }
}
