/**
 * `createSessionOutbox` creates the outbox of a session for the current user.
 * Invariant: a message of one user is never sent as another user. Before a send, the user is confirmed and the message
 * must still be in the outbox. Nothing is stored until the user is known.
 */
import type { Identity } from "../auth/identity.ts";
import { ClientError } from "../errors.ts";
import type { Api } from "../http/api.ts";
import type { Transport, TransportCommand } from "../transport/transport.ts";
import type { ClientEnv } from "../env.ts";
import { clientMessageId, type OutboxMessage } from "../outbox/message.ts";
import { createOutbox, type Outbox } from "../outbox/outbox.ts";
import { outboxKey } from "../outbox/storage.ts";

/** The dependencies of a session. */
export interface SessionContext {
  readonly url: string;
  readonly transport: Transport;
  readonly api: Api;
  readonly env: ClientEnv;
  readonly identity: Identity;
  /** Keeps the connection of a hidden page until the request is answered. */
  readonly track: <T>(request: Promise<T>) => Promise<T>;
}

export interface SessionOutbox extends Outbox {
  /** @param isOtherUser true if the previous user was confirmed to be another; then their messages stay behind */
  onIdentityChange(isOtherUser: boolean): void;
}

export function createSessionOutbox(
  sessionId: string,
  context: SessionContext,
  onChange: () => void,
): SessionOutbox {
  const { url, transport, api, env, identity } = context;
  const key = (): string => outboxKey(url, identity.name ?? "", sessionId);
  const outbox = createOutbox({
    key: key(),
    // Nothing is stored until the user is known.
    env: identity.name === null ? { ...env, storage: null } : env,
    async send(message) {
      // Confirms the user first. Otherwise the request would discover another user only while it is sent, and send the
      // message anyway.
      if (!identity.isConfirmed) await api.auth.get();
      if (!outbox.has(message.id)) throw new ClientError("ABORTED", "Another user is signed in.");
      await transport.command(toSendCommand(message, sessionId));
    },
    report: api.report,
    onChange,
    onDue: () => transport.onActivity(),
  });
  return {
    ...outbox,
    onIdentityChange: (isOtherUser) => outbox.switchUser(key(), env.storage, !isOtherUser),
  };
}

function toSendCommand(message: OutboxMessage, session_id: string): TransportCommand {
  const { id, text, files, agent, mode, locale, resumes, formValues } = message;
  return {
    type: "send",
    session_id,
    client_message_id: clientMessageId(id),
    text,
    ...(files.length === 0 ? {} : { content_urls: files.map(({ url }) => url) }),
    ...(agent === null ? {} : { agent_id: agent }),
    ...(mode === null ? {} : { display_mode: mode }),
    ...(locale === null ? {} : { locale }),
    ...(resumes === null ? {} : { resume_form_request_id: resumes }),
    ...(formValues === null ? {} : { form_values: formValues }),
  };
}
