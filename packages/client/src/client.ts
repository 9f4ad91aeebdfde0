/** The client of one person: sessions over one connection. */
import type { Session } from "./session.ts";

export interface Client {
  /** The same store for the same id, for as long as anybody looks at it. */
  session(id: string): Session;
  /** Leaves. Nothing that was sent is lost: the server goes on. */
  close(): void;
}
