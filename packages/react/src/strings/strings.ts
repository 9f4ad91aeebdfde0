/** What every language says. Types only: English is declared once, the others must have its shape. */
import type { cards } from "./en/cards.ts";
import type { thread } from "./en/thread.ts";

export type ThreadStrings = typeof thread;
export type CardStrings = typeof cards;

export interface Strings {
  /** For numbers, dates and money. */
  readonly locale: string;
  readonly thread: ThreadStrings;
  readonly cards: CardStrings;
}
