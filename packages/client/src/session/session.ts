/**
 * `Session` is the store and the commands of one session: the contract between clients, hooks and components. Types
 * only.
 * Invariant: an unchanged part of a `SessionView` keeps its reference, because selectors compare references.
 * `getSnapshot` and `subscribe` work without `this`. Commands reject only with a `ClientError`.
 */
import type { QuestionAnswer, FileRef, Json, SessionState, Turn } from "@turnstream/protocol";
import type { RestReply } from "@turnstream/protocol/schema";
import type { ConnectionView } from "../transport/status.ts";
import type { ClientError } from "../errors.ts";

/** An unsent message. It is shown at once and dropped when it appears in the log. */
export interface PendingMessage {
  /** Chosen by the client and also used in the log, so that the message can't appear twice. */
  readonly id: string;
  readonly text: string;
  readonly files: readonly FileRef[];
  readonly at: number;
  /** waiting: for a connection. failed: rejected, see `error`; it stays until it is sent again or discarded. */
  readonly status: "waiting" | "sending" | "failed";
  readonly error: ClientError | null;
  /** True if it was written in this page, not in another tab or before a reload. */
  readonly isOwn: boolean;
}

export interface SessionOptions {
  /**
   * The result of `dehydrateSession`, or the `snapshot` that the gateway returned. The session shows it at once and
   * continues from its position. It is ignored if the client has a newer state, or if it is unreadable.
   */
  readonly snapshot?: string | object | null;
}

/** Immutable: an unchanged part keeps its reference. */
export interface SessionView {
  readonly state: SessionState;
  readonly connection: ConnectionView;
  /** Oldest first; without messages that `state` already contains. */
  readonly outbox: readonly PendingMessage[];
  readonly history: HistoryView;
  /** The server's clock minus this machine's, to correct deadlines. */
  readonly skewMs: number;
  /** True if the server has lost ended turns that this view has shown, for example when its database failed over. */
  readonly hasLostTurns: boolean;
}

export interface HistoryView {
  /** Whether there are turns before the oldest in `state`. */
  readonly hasMore: boolean;
  readonly isLoading: boolean;
  readonly error: ClientError | null;
}

export interface MessageInput {
  readonly text: string;
  /** Files that were uploaded before. */
  readonly files?: readonly FileRef[];
  /** The agent that answers. @default the first agent of the worker */
  readonly agentId?: string;
  /** `chat` hides thinking, `agent` shows it. @default the mode of the agent */
  readonly mode?: Turn["mode"];
  /** The language of the user, as a BCP 47 tag. Default: that of the previous turn. */
  readonly locale?: string;
  /** The form that the message continues from, with its values. */
  readonly resumeFormId?: string;
  readonly formValues?: Readonly<Record<string, Json>>;
}

export interface SendResult {
  readonly id: string;
  /** Resolves once the server has stored the message, possibly after a reload. Rejects if the server rejected it. */
  readonly done: Promise<void>;
}

export type ApprovalDecision =
  | { readonly decision: "approve"; readonly always?: true; readonly digest?: string }
  | { readonly decision: "edit"; readonly args: Json; readonly digest?: string }
  | { readonly decision: "reject"; readonly reason?: string; readonly digest?: string };

export type UploadedFile = RestReply<"file">;

/** A page of payments, newest first. Pass `next_before` to get the next page. */
export type PaymentPage = RestReply<"payments">;

export interface UploadOptions {
  readonly name: string;
  readonly signal?: AbortSignal;
  readonly onProgress?: (sentBytes: number, allBytes: number) => void;
}

/**
 * Commands resolve once the server has acknowledged them and reject with a ClientError. Their changes arrive in the
 * state.
 */
export interface Session {
  readonly id: string;
  /** The address of the gateway, from which its files load; "" for the origin of the page. */
  readonly gatewayUrl: string;
  // Both work without `this`, because React calls them as plain functions.
  readonly getSnapshot: () => SessionView;
  /** Subscribes to changes and keeps the session connected. Called at most once per animation frame. */
  readonly subscribe: (onChange: () => void) => () => void;
  send(message: MessageInput): SendResult;
  /** Sends a failed message again, with the same id. */
  resendMessage(id: string): void;
  /** Discards an unsent message, or withdraws a queued one. */
  cancelMessage(id: string): Promise<void>;
  /** Stops the running turn. With `turn`: only if it is that turn. */
  stop(turn?: string): Promise<void>;
  retry(turn: string): Promise<void>;
  decideApproval(approval: string, decision: ApprovalDecision): Promise<void>;
  answerQuestion(question: string, answers: readonly QuestionAnswer[]): Promise<void>;
  dismissQuestion(question: string, reason?: string): Promise<void>;
  submitForm(form: string, values: Readonly<Record<string, Json>>): Promise<void>;
  declineForm(form: string, reason?: string): Promise<void>;
  /** Cancels a payment. Rejects with INTERACTION_CLOSED once its checkout was opened. */
  cancelPayment(payment: string): Promise<void>;
  /** Makes the server ask the payment provider for the status of a payment. */
  refreshPayment(payment: string): Promise<void>;
  listPayments(before?: number): Promise<PaymentPage>;
  saveFormDraft(form: string, values: Readonly<Record<string, Json>>): Promise<void>;
  loadFormDraft(form: string): Promise<Readonly<Record<string, Json>> | null>;
  uploadFile(file: Blob, options: UploadOptions): Promise<UploadedFile>;
  /** Returns the stored text of the composer; "" if there is none. Waits until the user is known. */
  loadDraft(): Promise<string>;
  /** Stores the text of the composer across reloads; "" removes it. Does nothing before the user is known. */
  saveDraft(text: string): void;
  loadMore(): Promise<void>;
  /** Discards the local state and reloads it from the server. */
  refresh(): Promise<void>;
}
