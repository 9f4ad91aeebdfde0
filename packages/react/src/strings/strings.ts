/** What every language says. Types only: English is declared once, the others must have its shape. */
import type { ClientErrorCode } from "@turnstream/client";
import type { cards } from "./en/cards.ts";
import type { errors, thread } from "./en/thread.ts";

export type ThreadStrings = typeof thread;
export type CardStrings = typeof cards;
export type ErrorStrings = typeof errors & {
  /** All of them: what a server or a client says by its word alone must not be left in English. */
  readonly byCode: Readonly<Record<ClientErrorCode, string>>;
};

export interface Strings {
  /** For numbers, dates and money. */
  readonly locale: string;
  readonly thread: ThreadStrings;
  readonly cards: CardStrings;
  readonly errors: ErrorStrings;
}
