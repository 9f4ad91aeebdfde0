/**
 * `useComposer` returns the message that the user writes, without any UI: text, uploads, send and stop. All components
 * of a thread share it, so that a suggestion can fill the field of the composer.
 * Invariant: a message is sent only if all its uploads are done. `send` empties the draft at once, because the outbox
 * stores the message and shows its outcome.
 */
import type { Turn } from "@turnstream/protocol";
import { type Attachment, canSend } from "@turnstream/client/view";
import { useEffect, useSyncExternalStore } from "react";
import { useThreadContext } from "../context.ts";
import { type StopAction, useIsRunning, useStop } from "./use-stop.ts";

export interface ComposerState extends StopAction {
  readonly text: string;
  readonly setText: (text: string) => void;
  readonly files: readonly Attachment[];
  /** Uploads files for the message. Files that the composer doesn't accept are ignored. */
  readonly attach: (files: Iterable<Blob & { readonly name: string }>) => void;
  readonly removeFile: (id: string) => void;
  readonly canSend: boolean;
  /** Sends the message if it is complete. While a turn runs, the message is queued. */
  readonly send: () => void;
  readonly isRunning: boolean;
}

export interface ComposerOptions {
  /** The accepted files; "" for none. */
  readonly accept?: string;
  /** The agent to ask, if it is not the default agent. */
  readonly agentId?: string | undefined;
  /** `chat` hides thinking, `agent` shows it. @default the mode of the agent */
  readonly mode?: Turn["mode"] | undefined;
}

/** @param options set by the component that shows the composer; the others leave them out */
export function useComposer(options?: ComposerOptions): ComposerState {
  const { session, composer, strings } = useThreadContext();
  const { text, files } = useSyncExternalStore(composer.subscribe, composer.get, composer.get);
  const isRunning = useIsRunning();
  const hasOptions = options !== undefined;
  const { accept = "*/*", agentId, mode } = options ?? {};
  useEffect(() => {
    if (hasOptions) composer.options = { accept, agentId, mode };
  }, [composer, hasOptions, accept, agentId, mode]);
  return {
    text,
    setText: (next) => composer.set({ text: next }),
    files,
    attach: (added) => composer.attach(session, added),
    removeFile: composer.removeFile,
    canSend: canSend(text, files),
    send() {
      // The newest draft: a handler can set the text and send it before the next render.
      const draft = composer.get();
      const { agentId: agent, mode: chosen } = composer.options;
      if (!canSend(draft.text, draft.files)) return;
      const named = draft.files.flatMap(({ file }) => file ?? []);
      const message = {
        text: draft.text,
        locale: strings.locale,
        ...(named.length > 0 && { files: named }),
        ...(agent !== undefined && { agentId: agent }),
        ...(chosen !== undefined && { mode: chosen }),
      };
      // The outbox shows the outcome.
      session.send(message).done.catch(() => {});
      composer.set({ text: "", files: [] });
    },
    isRunning,
    ...useStop(),
  };
}
