/**
 * `useMessage` returns a user message in any state: answered by a turn, queued, or in the outbox. `usePendingMessages`
 * lists those without a turn.
 * Invariant: with a turn id it reads only that turn, so that deltas of other turns don't re-render it. Queued messages
 * come before those in the outbox.
 */
import type { ClientError, PendingMessage, SessionView } from "@turnstream/client";
import type { UserMessage } from "@turnstream/protocol";
import type { ThreadStore } from "@turnstream/client/view";
import { useSessionSelector } from "./use-session-selector.ts";
import { useStoreSelector } from "./stores.ts";

/** queued: the server has stored it, and its turn starts later. The other values are those of a pending message. */
export type MessageStatus = "sent" | "queued" | PendingMessage["status"];

export interface MessageView {
  readonly message: UserMessage | PendingMessage;
  readonly status: MessageStatus;
  readonly error: ClientError | null;
}

/** @param turnId the turn that answers it, if any; then only this turn is searched */
export function useMessage(id: string, turnId?: string): MessageView | null {
  const message = useStoreSelector(turnId === undefined ? "view" : `turn:${turnId}`, (store) =>
    turnId === undefined ? findPending(store, id) : (store.getTurn(turnId)?.message ?? null),
  );
  if (message === null) return null;
  if ("status" in message) return { message, status: message.status, error: message.error };
  return { message, status: turnId === undefined ? "queued" : "sent", error: null };
}

function findPending(store: ThreadStore, id: string): UserMessage | PendingMessage | null {
  const { state, outbox } = store.getView();
  const isIt = (message: { readonly id: string }): boolean => message.id === id;
  return outbox.find(isIt) ?? state.waiting.find(isIt) ?? null;
}

/** Returns the messages below the last turn, oldest first: queued messages, then those in the outbox. */
export function usePendingMessages(): readonly string[] {
  const waiting = useSessionSelector(({ state }) => state.waiting);
  const outbox = useSessionSelector((view: SessionView) => view.outbox);
  return [...waiting, ...outbox].map(({ id }) => id);
}
