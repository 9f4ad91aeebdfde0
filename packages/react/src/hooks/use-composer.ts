/**
 * `useComposer` returns the message that the user writes, without any UI: text, uploads, send and stop. All components
 * of a thread share it, so that a suggestion can fill the field of the composer. The session stores the text across
 * reloads.
 * Invariant: a message is sent only if all its uploads are done. `send` empties the draft at once, because the outbox
 * stores the message and shows its outcome.
 */
import { type Attachment, type ComposerOptions, type RefusedFile, canSend } from "@turnstream/client/view";
import { useEffect, useSyncExternalStore } from "react";
import { useThreadContext } from "../context.ts";
import { type StopAction, useIsRunning, useStop } from "./use-action.ts";
import { useMessages } from "./use-messages.ts";
import { useComposerStore } from "./stores.ts";

export interface ComposerState extends StopAction {
  readonly text: string;
  readonly setText: (text: string) => void;
  readonly files: readonly Attachment[];
  /** Uploads files for the message. Files that the composer doesn't accept are in `refused`. */
  readonly attach: (files: Iterable<Blob & { readonly name: string }>) => void;
  readonly removeFile: (id: string) => void;
  /** The files that the last `attach` refused, each with the reason. */
  readonly refused: readonly RefusedFile[];
  readonly clearRefused: () => void;
  /** The agent that the user has chosen for the next messages; null for that of the composer. */
  readonly agentId: string | null;
  readonly setAgent: (agentId: string) => void;
  /** Moves the focus to the field of the composer. */
  readonly focus: () => void;
  readonly canSend: boolean;
  /** Sends the message if it is complete. While a turn runs, the message is queued. */
  readonly send: () => void;
  readonly isRunning: boolean;
}

/** @param options set by the component that shows the composer; the others leave them out */
export function useComposer(options?: ComposerOptions): ComposerState {
  const { session } = useThreadContext();
  const composer = useComposerStore();
  const { locale } = useMessages();
  const {
    text,
    files,
    refused,
    agentId: chosenAgent,
  } = useSyncExternalStore(composer.subscribe, composer.get, composer.get);
  const isRunning = useIsRunning();
  const hasOptions = options !== undefined;
  const { accept, maxFileBytes, maxFiles, agentId, mode } = options ?? {};
  useEffect(() => {
    if (hasOptions) composer.options = { accept, maxFileBytes, maxFiles, agentId, mode };
  }, [composer, hasOptions, accept, maxFileBytes, maxFiles, agentId, mode]);
  return {
    text,
    setText: (next) => composer.set({ text: next }),
    files,
    attach: (added) => composer.attach(session, added),
    removeFile: composer.removeFile,
    refused,
    clearRefused: () => composer.set({ refused: [] }),
    agentId: chosenAgent,
    setAgent: (next) => composer.set({ agentId: next }),
    focus: composer.focus,
    canSend: canSend(text, files),
    send: () => void composer.send(session, { locale }),
    isRunning,
    ...useStop(),
  };
}
