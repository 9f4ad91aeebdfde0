/**
 * `createSessionCommands` gives the server's own code the commands on sessions: create, send, stop, decide and read.
 * Invariant: every command runs in the app's tenant. The caller is trusted: it decides which user may do what.
 */
import type { CommandBackend } from "../session/backend.ts";
import { type ApprovalDecision, decideApproval } from "../session/interactions/decide-approval.ts";
import type { TransitionResult } from "../store/ports/interactions.ts";
import { readHistory, type SessionHistory } from "../session/history/read-history.ts";
import { createSession } from "../session/lifecycle/create.ts";
import { type SendMessageInput, sendMessage } from "../session/messages/send.ts";
import { stopTurn } from "../session/messages/stop-turn.ts";
import type { Session } from "../store/ports/sessions.ts";
import { systemEnv } from "../util/env.ts";

export interface SessionCommands {
  /** Creates a session of a user. With an id, the call can be repeated. */
  create(options: { readonly user: string; readonly id?: string; readonly title?: string }): Promise<Session>;
  /**
   * Sends a message, which starts a turn or waits for the running one.
   * @returns the id of the message; a message with an id that was sent before is not sent again
   */
  send(session: string, message: string | (Omit<SendMessageInput, "id"> & { id?: string })): Promise<string>;
  /** Stops the running turn. @returns the id of the turn, or null if none runs */
  stop(session: string): Promise<string | null>;
  /** Approves, edits or rejects a call that waits for approval. */
  decide(session: string, decision: ApprovalDecision): Promise<TransitionResult>;
  /** Reads the newest turns of a session. */
  read(session: string, options?: { readonly turns?: number }): Promise<SessionHistory>;
}

/** @param open opens the backend at the first command */
export function createSessionCommands(tenant: string, open: () => Promise<CommandBackend>): SessionCommands {
  return {
    async create({ user, ...options }) {
      return createSession(await open(), { tenant, user }, options);
    },
    async send(session, message) {
      const { id = systemEnv.id(), ...rest } = typeof message === "string" ? { text: message } : message;
      await sendMessage(await open(), { tenant, session }, { ...rest, id });
      return id;
    },
    async stop(session) {
      return (await stopTurn(await open(), { tenant, session }, {})).turn;
    },
    async decide(session, decision) {
      return decideApproval(await open(), { tenant, session }, decision);
    },
    async read(session, options = {}) {
      return readHistory(await open(), { tenant, session }, options);
    },
  };
}
