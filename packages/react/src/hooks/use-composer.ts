/**
 * `useComposer` returns the state of a composer, without any UI: the draft, the uploads, send and stop.
 * Invariant: a message is sent only if all its uploads are done. Removing a file or unmounting aborts its upload.
 * `send` empties the draft at once, because the outbox stores the message and shows its outcome.
 */
import type { Turn } from "@turnstream/protocol";
import { useEffect, useReducer, useRef, useState } from "react";
import { useThreadContext } from "../context.ts";
import { type Attachment, updateAttachments, canSend, isAccepted } from "@turnstream/client/view";
import { useAction } from "./use-action.ts";
import { useSessionSelector } from "./use-session-selector.ts";

export interface ComposerState {
  readonly text: string;
  readonly setText: (text: string) => void;
  readonly files: readonly Attachment[];
  readonly addFiles: (files: Iterable<Blob & { readonly name: string }>) => void;
  readonly removeFile: (id: string) => void;
  readonly canSend: boolean;
  /** Sends the message if it is complete. While a turn runs, the message is queued. */
  readonly send: () => void;
  readonly isRunning: boolean;
  readonly isStopping: boolean;
  readonly stop: () => void;
  /** Why the stop failed. */
  readonly problem: string | null;
}

export interface ComposerOptions {
  /** The accepted files; "" for none. */
  readonly accept?: string;
  /** The agent to ask, if it is not the default agent. */
  readonly agentId?: string | undefined;
  /** `chat` hides thinking, `agent` shows it. @default the mode of the agent */
  readonly mode?: Turn["mode"] | undefined;
}

export function useComposer({ accept = "*/*", agentId, mode }: ComposerOptions = {}): ComposerState {
  const { session, strings } = useThreadContext();
  const [text, setText] = useState("");
  const [files, step] = useReducer(updateAttachments, []);
  const uploads = useRef(new Map<string, AbortController>());
  const count = useRef(0);
  const stopping = useAction();
  const running = useSessionSelector(({ state }) => {
    const last = state.turns.last();
    return last?.status === "running" ? last.id : null;
  });
  useEffect(() => {
    const { current } = uploads;
    return () => {
      for (const upload of current.values()) upload.abort();
    };
  }, []);

  const upload = async (id: string, file: Blob & { readonly name: string }): Promise<void> => {
    const abort = new AbortController();
    uploads.current.set(id, abort);
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
    uploads.current.delete(id);
  };
  const isReady = canSend(text, files);
  return {
    text,
    setText,
    files,
    addFiles(added) {
      for (const file of added) {
        if (!isAccepted(file, accept)) continue;
        const id = String(++count.current);
        step({ type: "added", id, name: file.name, size: file.size });
        void upload(id, file);
      }
    },
    removeFile(id) {
      uploads.current.get(id)?.abort();
      step({ type: "removed", id });
    },
    canSend: isReady,
    send() {
      if (!isReady) return;
      const named = files.flatMap(({ file }) => file ?? []);
      // The outbox shows the outcome.
      const message = {
        text,
        locale: strings.locale,
        ...(named.length > 0 && { files: named }),
        ...(agentId !== undefined && { agentId }),
        ...(mode !== undefined && { mode }),
      };
      session.send(message).done.catch(() => {});
      setText("");
      step({ type: "sent" });
    },
    isRunning: running !== null,
    isStopping: stopping.isBusy,
    stop() {
      if (running !== null) stopping.run(() => session.stop(running));
    },
    problem: stopping.problem,
  };
}
