/**
 * `Client` is the interface of a client. Types only.
 * Invariant: it depends on no implementation, so that chunks of a client can be typed by it.
 */
import type { SessionInfo } from "./session-info.ts";
import type { Session, SessionOptions } from "./session/session.ts";
import type { SharingClient } from "./shares.ts";

export interface Client extends SharingClient {
  /** Returns the store of a session; the same store for the same id. */
  session(sessionId: string, options?: SessionOptions): Session;
  /** Creates a session. With `id`, a repeated call returns the same session. @default id: a new one */
  createSession(options?: { readonly id?: string; readonly title?: string }): Promise<SessionInfo>;
  /** Lists the sessions of the user, most recently used first. */
  listSessions(page?: { readonly before?: string; readonly limit?: number }): Promise<SessionPage>;
  renameSession(sessionId: string, title: string): Promise<SessionInfo>;
  /** Deletes a session permanently, with everything in it. */
  deleteSession(sessionId: string): Promise<void>;
  /** Lists the agents that a message can name in `agentId`, by id. */
  listAgents(): Promise<readonly AgentInfo[]>;
  /** Closes the connection. Messages that were sent are not lost, and turns continue on the server. */
  close(): void;
}

export interface AgentInfo {
  readonly id: string;
  /** What the agent does, for users; "" if it has no label. */
  readonly label: string;
  /** What the agent is good for; "" if it has no description. */
  readonly description: string;
  /** What it accepts: text, files whose text it reads, images that its model sees. */
  readonly inputs: readonly ("text" | "file" | "image")[];
}

export interface SessionPage {
  readonly sessions: readonly SessionInfo[];
  /** Pass it as `before` to get the next page; null if there is none. */
  readonly nextBefore: string | null;
}

/** The methods of a client that send one request. */
export type ClientApi = SharingClient &
  Pick<Client, "createSession" | "listSessions" | "renameSession" | "deleteSession" | "listAgents">;
