/**
 * `useThread` returns a session as a list of messages, with send and stop, for small interfaces of an app.
 * Invariant: an unchanged message is the same object, so a memoised component renders only the message that grows. It
 * has only the text of the main agent: tool calls, approvals and artifacts need the components of a thread, which
 * `needsUser` asks for.
 */
import {
  type FileRef,
  isBlock,
  listPendingInteractions,
  mainRun,
  type NoticeBlock,
  type Turn,
} from "@turnstream/protocol";
import { useMemo } from "react";
import { useThreadContext } from "../context.ts";
import { errorText } from "../error-text.ts";
import { noticeText } from "../notice-text.ts";
import { useSessionSelector } from "./use-session-selector.ts";
import { useStop } from "./use-action.ts";
import { useMessages } from "./use-messages.ts";

export interface ThreadMessage {
  readonly id: string;
  readonly role: "user" | "assistant";
  /** The text of the user, or the answer of the main agent as far as it has streamed. */
  readonly text: string;
  readonly files: readonly FileRef[];
  /** The turn; null for a message that no turn answers yet. */
  readonly turnId: string | null;
  /** Whether more text can follow. */
  readonly isRunning: boolean;
  /** Whether an approval, a question, a form or a payment of the turn waits for the user. */
  readonly needsUser: boolean;
}

/** submitted: the answer has not started. streaming: it runs. error: the last message or turn failed. */
type ThreadStatus = "ready" | "submitted" | "streaming" | "error";

export interface ThreadView {
  /** Oldest first. */
  readonly messages: readonly ThreadMessage[];
  readonly status: ThreadStatus;
  readonly send: (text: string) => void;
  readonly stop: () => void;
  /** Why the last message or turn failed, in the language of the page. */
  readonly error: string | null;
}

const NO_FILES: readonly FileRef[] = [];
const cache = new WeakMap<object, readonly ThreadMessage[]>();

export function useThread(): ThreadView {
  const { session } = useThreadContext();
  const texts = useMessages();
  const turns = useSessionSelector(({ state }) => state.turns);
  const waiting = useSessionSelector(({ state }) => state.waiting);
  const outbox = useSessionSelector((view) => view.outbox);
  const { stop, problem } = useStop();
  const messages = useMemo(
    () => [...turns.toArray().flatMap(messagesOf), ...[...waiting, ...outbox].flatMap(pendingMessage)],
    [turns, waiting, outbox],
  );
  const last = turns.last();
  const failed = outbox.find(({ error }) => error !== null)?.error ?? null;
  const notice = last === undefined ? null : findError(last);
  const error =
    problem ??
    (failed !== null ? errorText(texts, failed) : notice === null ? null : noticeText(texts, notice));
  const isRunning = last?.status === "running";
  const isStreaming = isRunning && last.items.length > 0;
  const isSubmitted = isRunning || waiting.length + outbox.length > 0;
  return {
    messages,
    status: isStreaming ? "streaming" : error !== null ? "error" : isSubmitted ? "submitted" : "ready",
    // The outbox shows the outcome.
    send: (text) => void session.send({ text, locale: texts.locale }).done.catch(() => {}),
    stop,
    error,
  };
}

function messagesOf(turn: Turn): readonly ThreadMessage[] {
  const known = cache.get(turn);
  if (known !== undefined) return known;
  const { id: turnId, message } = turn;
  const main = mainRun(turn)?.id;
  const texts = turn.items
    .toArray()
    .flatMap((item) => (isText(item) && item.run === main && !item.part ? [item.text] : []));
  const answer: ThreadMessage = {
    id: turnId,
    role: "assistant",
    text: texts.join("\n\n"),
    files: NO_FILES,
    turnId,
    isRunning: turn.status === "running",
    needsUser: listPendingInteractions(turn).length > 0,
  };
  const asked = message === null ? [] : pendingMessage(message).map((one) => ({ ...one, turnId }));
  const messages = [...asked, answer];
  cache.set(turn, messages);
  return messages;
}

function isText(item: Turn["items"] extends Iterable<infer Item> ? Item : never) {
  return isBlock(item) && item.kind === "text";
}

function pendingMessage(message: {
  readonly id: string;
  readonly text: string;
  readonly files: readonly FileRef[];
}): readonly ThreadMessage[] {
  const known = cache.get(message);
  if (known !== undefined) return known;
  const { id, text, files } = message;
  const messages = [
    { id, role: "user", text, files, turnId: null, isRunning: false, needsUser: false },
  ] as const;
  cache.set(message, messages);
  return messages;
}

function findError(turn: Turn): NoticeBlock | null {
  const item = turn.items.last() ?? null;
  return isBlock(item) && item.kind === "notice" && item.notice === "error" ? item : null;
}
