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
  type AttachmentLimits,
  canSend,
  checkFile,
  type RefusedFile,
  updateAttachments,
} from "./attachments.ts";
import { createValueStore, type ReadableStore } from "./value-store.ts";

interface ComposerDraft {
  readonly text: string;
  readonly files: readonly Attachment[];
  /** The files that the last `attach` refused. The next one, `send` or `set` replaces them. */
  readonly refused: readonly RefusedFile[];
  /** The agent that the user has chosen. @default null: that of the options */
  readonly agentId: string | null;
}

export interface ComposerOptions extends AttachmentLimits {
  /** The agent to ask. @default the first agent of the worker */
  readonly agentId?: string | undefined;
  /** `chat` hides thinking, `agent` shows it. @default the mode of the agent */
  readonly mode?: Turn["mode"] | undefined;
  /** The language of the user, as a BCP 47 tag. @default that of the previous turn */
  readonly locale?: string | undefined;
}

type NamedBlob = Blob & { readonly name: string };

export interface ComposerStore extends ReadableStore<ComposerDraft> {
  readonly set: (changes: Partial<ComposerDraft>) => void;
  /** How the message is sent. A change calls no listener. */
  options: ComposerOptions;
  /** Focuses the field that was bound last. */
  readonly focus: () => void;
  /** Call it with the field once it is shown. Returns a function that ends it. */
  readonly bindField: (field: Pick<HTMLElement, "focus">) => () => void;
  /** Starts to upload the files that the options accept. The others are in `refused`. */
  readonly attach: (session: Session, files: Iterable<NamedBlob>) => void;
  readonly removeFile: (id: string) => void;
  /** Sends the message if it is complete. Returns whether it was. */
  readonly send: (session: Session, options?: Pick<ComposerOptions, "locale">) => boolean;
  /** Aborts all uploads. */
  readonly close: () => void;
}

export function createComposerStore(options: ComposerOptions = {}): ComposerStore {
  const draft = createValueStore<ComposerDraft>({ text: "", files: [], refused: [], agentId: null });
  let count = 0;
  const fields = new Set<Pick<HTMLElement, "focus">>();
  const uploads = new Map<string, AbortController>();
  const set = (changes: Partial<ComposerDraft>): void => draft.set({ ...draft.get(), ...changes });
  const step = (input: AttachmentInput): void => set({ files: updateAttachments(draft.get().files, input) });
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
    focus: () => [...fields].at(-1)?.focus(),
    bindField(field) {
      fields.add(field);
      return () => void fields.delete(field);
    },
    get: draft.get,
    subscribe: draft.subscribe,
    set,
    attach(session, files) {
      const refused: RefusedFile[] = [];
      for (const file of files) {
        const { name, size } = file;
        const reason = checkFile(file, draft.get().files.length, store.options);
        if (reason !== null) refused.push({ name, reason });
        else {
          const id = String(++count);
          step({ type: "added", id, name, size, source: file });
          void upload(session, id, file);
        }
      }
      set({ refused });
    },
    removeFile(id) {
      uploads.get(id)?.abort();
      step({ type: "removed", id });
    },
    send(session, { locale = store.options.locale } = {}) {
      const { text, files: attachments, agentId: chosen } = draft.get();
      if (!canSend(text, attachments)) return false;
      const { mode } = store.options;
      const agentId = chosen ?? store.options.agentId;
      const files = attachments.flatMap(({ file }) => file ?? []);
      const message = {
        text,
        ...(files.length > 0 && { files }),
        ...(agentId !== undefined && { agentId }),
        ...(mode !== undefined && { mode }),
        ...(locale !== undefined && { locale }),
      };
      // The outbox shows the outcome.
      session.send(message).done.catch(() => {});
      set({ text: "", files: [], refused: [] });
      return true;
    },
    close() {
      for (const running of uploads.values()) running.abort();
    },
  };
  return store;
}
