/** The outbox of a session: whose it is, and how what is in it is sent. Never sends one person's words for another. */
import type { Person } from "../auth/identity.ts";
import { ClientError } from "../errors.ts";
import type { Api } from "../http/api.ts";
import type { Link, LinkCommand } from "../transport/transport.ts";
import type { ClientEnv } from "../env.ts";
import { clientMessageId, type OutboxMessage } from "../outbox/message.ts";
import { createOutbox, type Outbox } from "../outbox/outbox.ts";
import { outboxKey } from "../outbox/storage.ts";

/** What a session is made of. */
export interface SessionParts {
  readonly url: string;
  readonly link: Link;
  readonly api: Api;
  readonly env: ClientEnv;
  readonly person: Person;
}

export interface SessionOutbox extends Outbox {
  /** @param isAnother whether the one before was sure to be somebody else: what they wrote stays behind */
  personChanged(isAnother: boolean): void;
}

export function sessionOutbox(session: string, parts: SessionParts, onChange: () => void): SessionOutbox {
  const { url, link, api, env, person } = parts;
  const key = (): string => outboxKey(url, person.name ?? "", session);
  const outbox = createOutbox({
    key: key(),
    // Until it is known whose it is, nothing is kept.
    env: person.name === null ? { ...env, storage: null } : env,
    async send(message) {
      // A request would find out on its way whose it is, and go all the same.
      if (!person.isSure) await api.auth.get();
      if (!outbox.has(message.id)) throw new ClientError("ABORTED", "Somebody else is signed in.");
      await link.command(sendOf(message, session));
    },
    onChange,
  });
  return {
    ...outbox,
    personChanged: (isAnother) => outbox.belongsTo(key(), env.storage, !isAnother),
  };
}

function sendOf(message: OutboxMessage, session_id: string): LinkCommand {
  const { id, text, files, agent, resumes, formValues } = message;
  return {
    type: "send",
    session_id,
    client_message_id: clientMessageId(id),
    text,
    ...(files.length === 0 ? {} : { content_urls: files.map(({ url }) => url) }),
    ...(agent === null ? {} : { agent_id: agent }),
    ...(resumes === null ? {} : { resume_form_request_id: resumes }),
    ...(formValues === null ? {} : { form_values: formValues }),
  };
}
