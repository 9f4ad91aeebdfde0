/** What the page of a live session lets its tests look at. Types only. */
import type { ConnectionPhase, PendingMessage, Session } from "@turnstream/client";

export interface LiveView {
  /** Where in the log the page stands. */
  readonly cursor: string;
  readonly phase: ConnectionPhase;
  readonly wire: "websocket" | "sse" | null;
  readonly failures: number;
  readonly outbox: readonly Pick<PendingMessage, "id" | "text" | "status">[];
  readonly turns: readonly string[];
  readonly error: string | null;
}

declare global {
  interface Window {
    /** Put there by the test, before the page is loaded. */
    turnstreamToken?: string;
    turnstream?: { readonly session: Session; view(): LiveView };
  }
}
