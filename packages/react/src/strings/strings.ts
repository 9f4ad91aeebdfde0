/**
 * `Strings` is the shape of the UI strings of a language. Types only.
 * Invariant: English declares the shape, and every other language must match it. `errors.byCode` has every error code,
 * because an error that has only a code must not stay in English.
 */
import type { ClientErrorCode } from "@turnstream/client";
import type { cards } from "./en/cards.ts";
import type { errors, thread } from "./en/thread.ts";

export type ThreadStrings = typeof thread;
export type CardStrings = typeof cards;
export type ErrorStrings = typeof errors & {
  /** Complete, because an error that has only a code must not stay in English. */
  readonly byCode: Readonly<Record<ClientErrorCode, string>>;
};

export interface Strings {
  /** For numbers, dates and money. */
  readonly locale: string;
  readonly thread: ThreadStrings;
  readonly cards: CardStrings;
  readonly errors: ErrorStrings;
}
