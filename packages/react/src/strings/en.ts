/**
 * `en` are the English strings, and `Strings` is the shape of every language.
 * Invariant: a new key needs a text in each language. Numbers arrive as formatted text, unless the text has plural forms:
 * `countText` formats them. Our own components import only the groups that they show.
 */
import { cardStrings } from "./cards.ts";
import { chat } from "./chat.ts";
import { sharing } from "./sharing.ts";

export const en = { ...cardStrings, chat, sharing };

export type Strings = typeof en;
