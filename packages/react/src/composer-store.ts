/**
 * `createComposerStore` holds the message that the user writes: its text, its files with their uploads, and how it is
 * sent. All components of a thread share it.
 * Invariant: removing a file or `close` aborts its upload. The store belongs to a session id and not to a session
 * object, because a new session becomes another object when it is created, and the text must stay.
 */
import type { Session } from "@turnstream/client";
import {
  type Attachment,
  type AttachmentInput,
  isAccepted,
  updateAttachments,
} from "@turnstream/client/view";
import type { ComposerOptions } from "./hooks/use-composer.ts";

export interface Draft {
  readonly text: string;
  readonly files: readonly Attachment[];
}

type NamedBlob = Blob & { readonly name: string };

export interface ComposerStore {
  readonly get: () => Draft;
  readonly subscribe: (listener: () => void) => () => void;
  readonly set: (changes: Partial<Draft>) => void;
  /** How the message is sent. A change renders nothing. */
  options: ComposerOptions;
  /** Starts to upload the files that the options accept. */
  readonly attach: (session: Session, files: Iterable<NamedBlob>) => void;
  readonly removeFile: (id: string) => void;
  /** Aborts all uploads. */
  readonly close: () => void;
}

const EMPTY: Draft = { text: "", files: [] };

export function createComposerStore(): ComposerStore {
  let draft = EMPTY;
  let count = 0;
  const listeners = new Set<() => void>();
  const uploads = new Map<string, AbortController>();
  const set = (changes: Partial<Draft>): void => {
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
    options: {},
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
    close() {
      for (const running of uploads.values()) running.abort();
    },
  };
  return store;
}
