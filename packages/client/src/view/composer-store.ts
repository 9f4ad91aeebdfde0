/**
 * `createComposerStore` holds the message that the user writes: its text, its files with their uploads, and how it is
 * sent.
 * Invariant: a message is sent only if all its uploads are done. Removing a file or `close` aborts its upload. `send`
 * empties the draft at once, because the outbox stores the message and shows its outcome. The store belongs to no
 * session object, because a new session becomes another object when it is created, and the text must stay.
 */
import type { Session } from "../session/session.ts";
import type { Turn } from "@turnstream/protocol";
import {
  type Attachment,
  type AttachmentInput,
  canSend,
  isAccepted,
  updateAttachments,
} from "./attachments.ts";

export interface ComposerDraft {
  readonly text: string;
  readonly files: readonly Attachment[];
}

export interface ComposerOptions {
  /** The accepted files, like `accept` of an `<input type=file>`; "" for none. @default all */
  readonly accept?: string;
  /** The agent to ask. @default the first agent of the worker */
  readonly agentId?: string | undefined;
  /** `chat` hides thinking, `agent` shows it. @default the mode of the agent */
  readonly mode?: Turn["mode"] | undefined;
  /** The language of the user, as a BCP 47 tag. @default that of the previous turn */
  readonly locale?: string | undefined;
}

type NamedBlob = Blob & { readonly name: string };

export interface ComposerStore {
  readonly get: () => ComposerDraft;
  readonly subscribe: (listener: () => void) => () => void;
  readonly set: (changes: Partial<ComposerDraft>) => void;
  /** How the message is sent. A change notifies nobody. */
  options: ComposerOptions;
  /** Starts to upload the files that the options accept. */
  readonly attach: (session: Session, files: Iterable<NamedBlob>) => void;
  readonly removeFile: (id: string) => void;
  /** Sends the message if it is complete. Returns whether it was. */
  readonly send: (session: Session) => boolean;
  /** Aborts all uploads. */
  readonly close: () => void;
}

export function createComposerStore(options: ComposerOptions = {}): ComposerStore {
  let draft: ComposerDraft = { text: "", files: [] };
  let count = 0;
  const listeners = new Set<() => void>();
  const uploads = new Map<string, AbortController>();
  const set = (changes: Partial<ComposerDraft>): void => {
    draft = { ...draft, ...changes };
    for (const listener of listeners) listener();
  };
  const step = (input: AttachmentInput): void => set({ files: updateAttachments(draft.files, input) });
  const upload = async (session: Session, id: string, file: NamedBlob): Promise<void> => {
    const abort = new AbortController();
    uploads.set(id, abort);
    try {
      const { url, name, media_type, size } = await session.uploadFile(file, {
        name: file.name,
        signal: abort.signal,
        onProgress: (sentBytes) => step({ type: "progress", id, sentBytes }),
      });
      step({ type: "done", id, file: { url, name, media_type, size } });
    } catch (error) {
      if (!abort.signal.aborted) step({ type: "failed", id, error });
    }
    uploads.delete(id);
  };
  const store: ComposerStore = {
    options,
    get: () => draft,
    subscribe(listener) {
      listeners.add(listener);
      return () => void listeners.delete(listener);
    },
    set,
    attach(session, files) {
      for (const file of files) {
        if (!isAccepted(file, store.options.accept ?? "*/*")) continue;
        const id = String(++count);
        step({ type: "added", id, name: file.name, size: file.size });
        void upload(session, id, file);
      }
    },
    removeFile(id) {
      uploads.get(id)?.abort();
      step({ type: "removed", id });
    },
    send(session) {
      if (!canSend(draft.text, draft.files)) return false;
      const { agentId, mode, locale } = store.options;
      const files = draft.files.flatMap(({ file }) => file ?? []);
      session.send({
        text: draft.text,
        ...(files.length > 0 && { files }),
        ...(agentId !== undefined && { agentId }),
        ...(mode !== undefined && { mode }),
        ...(locale !== undefined && { locale }),
      });
      set({ text: "", files: [] });
      return true;
    },
    close() {
      for (const running of uploads.values()) running.abort();
    },
  };
  return store;
}
