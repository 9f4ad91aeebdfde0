/**
 * `Strings` is the shape of the UI strings of a language. Types only.
 * Invariant: English declares the shape, and every other language must match it. `errors.byCode` has every error code,
 * because an error that has only a code must not stay in English.
 */
import type { ClientErrorCode } from "@turnstream/client";
import type { approvals } from "./en/approvals.ts";
import type { cards } from "./en/cards.ts";
import type { chat } from "./en/chat.ts";
import type { composer } from "./en/composer.ts";
import type { fieldProblem } from "./en/field-problem.ts";
import type { payments } from "./en/payments.ts";
import type { sharing } from "./en/sharing.ts";
import type { errors, thread } from "./en/thread.ts";

export type ThreadStrings = typeof thread;
export type CardStrings = typeof cards;
export type FieldProblemString = typeof fieldProblem;
export type ApprovalStrings = typeof approvals;
export type PaymentStrings = typeof payments;
export type SharingStrings = typeof sharing;
export type ChatStrings = typeof chat;
export type ComposerStrings = typeof composer;
export type ErrorStrings = typeof errors & {
  /** Complete, because an error that has only a code must not stay in English. */
  readonly byCode: Readonly<Record<ClientErrorCode, string>>;
};

export interface Strings {
  /** For numbers, dates and money. */
  readonly locale: string;
  readonly thread: ThreadStrings;
  readonly cards: CardStrings;
  /** Of the form card. English if absent. */
  readonly fieldProblem?: FieldProblemString;
  /** Of the approval card. English if absent. */
  readonly approvals?: ApprovalStrings;
  /** Of the payment card. English if absent. */
  readonly payments?: PaymentStrings;
  /** Of `@turnstream/react/sharing`. English if absent. */
  readonly sharing?: SharingStrings;
  /** Of `Chat` and `SessionList`. English if absent. */
  readonly chat?: ChatStrings;
  /** Of refused files and the choice of an agent. English if absent. */
  readonly composer?: ComposerStrings;
  readonly errors: ErrorStrings;
}
