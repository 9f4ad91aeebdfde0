/**
 * `createLazySession` returns a session that is created on the server with its first message or file.
 * Invariant: nothing is created before that, and at most one session afterwards, because it has a fixed id. A message
 * that could not create the session stays in the outbox as failed. `onCreated` is called after the first message is in
 * the outbox of the created session, so the page can show that session without a gap.
 */
import { type ClientError, type Session, type SendResult, type MessageInput } from "@turnstream/client";
import { createStaticSession } from "@turnstream/client/static";

export interface LazySessionOptions {
  /** The id that the session will have. */
  readonly id: string;
  /** Stores the text of the composer until the session is created. */
  readonly drafts: Pick<Session, "loadDraft" | "saveDraft">;
  /** Creates the session on the server and returns it. */
  readonly create: (id: string) => Promise<Session>;
  readonly onCreated: (id: string) => void;
}

export function createLazySession({ id, drafts, create, onCreated }: LazySessionOptions): Session {
  let creating: Promise<Session> | null = null;
  const messages = new Map<string, MessageInput>();
  const results = new Map<string, Promise<void>>();
  const createOnce = async (): Promise<Session> => {
    try {
      const session = await create(id);
      for (const [key, message] of messages) results.set(key, session.send(message).done);
      onCreated(id);
      return session;
    } catch (error) {
      creating = null;
      throw error;
    }
  };
  const ready = (): Promise<Session> => (creating ??= createOnce());
  const local = createStaticSession([], {
    id,
    async onCommand(name, args) {
      const session = await ready();
      return await Reflect.apply(session[name as "uploadFile"], session, args);
    },
  });
  const updateOutbox = (key: string, error: ClientError | null): void => {
    const { outbox } = local.getSnapshot();
    const status = error === null ? "sending" : "failed";
    local.setView({
      outbox: outbox.map((entry) => (entry.id === key ? { ...entry, status, error } : entry)),
    });
  };
  const sendWhenReady = async (key: string, message: MessageInput): Promise<void> => {
    messages.set(key, message);
    try {
      const session = await ready();
      await (results.get(key) ?? session.send(message).done);
    } catch (error) {
      if (creating === null) updateOutbox(key, error as ClientError);
      throw error;
    }
  };
  let sent = 0;
  return {
    ...local,
    loadDraft: () => drafts.loadDraft(),
    saveDraft: (text) => drafts.saveDraft(text),
    send(message): SendResult {
      const key = `${id}-${++sent}`;
      const { text, files = [] } = message;
      const entry = { id: key, text, files, at: 0, status: "sending", error: null, isOwn: true } as const;
      local.setView({ outbox: [...local.getSnapshot().outbox, entry] });
      return { id: key, done: sendWhenReady(key, message) };
    },
    resendMessage(key) {
      const message = messages.get(key);
      if (message === undefined) return;
      updateOutbox(key, null);
      // The outbox shows the outcome.
      sendWhenReady(key, message).catch(() => {});
    },
    async cancelMessage(key) {
      messages.delete(key);
      local.setView({ outbox: local.getSnapshot().outbox.filter((entry) => entry.id !== key) });
    },
    // There is nothing to load before the session exists.
    refresh: async () => {},
    loadMore: async () => {},
  };
}
