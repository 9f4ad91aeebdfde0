/**
 * A session as whoever shows it sees it: a store with what is there, and what can be done. The whole contract between
 * clients, hooks and components. Types only.
 */
import type { QuestionAnswer, FileRef, Json, SessionState } from "@turnstream/protocol";
import type { RestReply } from "@turnstream/protocol/schema";
import type { ConnectionView } from "../transport/status.ts";
import type { ClientError } from "../errors.ts";

/** A message that is on its way: shown at once, and dropped once the log shows it. */
export interface PendingMessage {
  /** Chosen here; the id of the message in the log, so that it can't become two. */
  readonly id: string;
  readonly text: string;
  readonly files: readonly FileRef[];
  readonly at: number;
  /** waiting: for a connection. failed: refused, `error` says why; it stays until sent again or discarded. */
  readonly status: "waiting" | "sending" | "failed";
  readonly error: ClientError | null;
  /** Whether it was written in this page, and not in another tab or before a reload. */
  readonly isOwn: boolean;
}

/** Immutable: nothing to say means the same reference, in every part. */
export interface SessionView {
  readonly state: SessionState;
  readonly connection: ConnectionView;
  /** Oldest first; never one that `state` shows already. */
  readonly outbox: readonly PendingMessage[];
  readonly history: HistoryView;
  /** The server's clock minus this machine's: what a deadline is corrected by. */
  readonly skewMs: number;
}

export interface HistoryView {
  /** Whether there are turns before the oldest in `state`. */
  readonly hasMore: boolean;
  readonly isLoading: boolean;
  readonly error: ClientError | null;
}

export interface MessageInput {
  readonly text: string;
  /** Uploaded before. */
  readonly files?: readonly FileRef[];
  readonly agentId?: string;
  /** Goes on from this form, with what was filled in. */
  readonly resumeFormId?: string;
  readonly formValues?: Readonly<Record<string, Json>>;
}

export interface SendResult {
  readonly id: string;
  /** Settles once the server has it for good, which may be after a reload; rejects when it was refused. */
  readonly done: Promise<void>;
}

export type ApprovalDecision =
  | { readonly decision: "approve"; readonly always?: true; readonly digest?: string }
  | { readonly decision: "edit"; readonly args: Json; readonly digest?: string }
  | { readonly decision: "reject"; readonly reason?: string; readonly digest?: string };

export type UploadedFile = RestReply<"file">;

export interface UploadOptions {
  readonly name: string;
  readonly signal?: AbortSignal;
  readonly onProgress?: (sentBytes: number, allBytes: number) => void;
}

/** Commands settle once the server has said so; they reject with a ClientError. What they change arrives in the state. */
export interface Session {
  readonly id: string;
  // These two can be passed on by themselves, as React does.
  readonly getSnapshot: () => SessionView;
  /** Connected while anybody subscribes. Called at most once per animation frame. */
  readonly subscribe: (onChange: () => void) => () => void;
  send(message: MessageInput): SendResult;
  /** Tries a failed message again, under the same id. */
  resendMessage(id: string): void;
  /** Forgets a message that is not sent; withdraws one that waits for its turn. */
  cancelMessage(id: string): Promise<void>;
  /** The running turn, or only that turn. */
  stop(turn?: string): Promise<void>;
  retry(turn: string): Promise<void>;
  decideApproval(approval: string, decision: ApprovalDecision): Promise<void>;
  answerQuestion(question: string, answers: readonly QuestionAnswer[]): Promise<void>;
  dismissQuestion(question: string, reason?: string): Promise<void>;
  submitForm(form: string, values: Readonly<Record<string, Json>>): Promise<void>;
  declineForm(form: string, reason?: string): Promise<void>;
  saveFormDraft(form: string, values: Readonly<Record<string, Json>>): Promise<void>;
  loadFormDraft(form: string): Promise<Readonly<Record<string, Json>> | null>;
  uploadFile(file: Blob, options: UploadOptions): Promise<UploadedFile>;
  loadMore(): Promise<void>;
  /** Asks the server for everything anew, for who doubts what is shown. */
  refresh(): Promise<void>;
}
