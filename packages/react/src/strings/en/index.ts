/**
 * `en` are the English strings, the default of `SessionProvider`.
 * Invariant: the other languages are translated from it. Its locale also formats numbers, dates and money.
 */
import type { Strings } from "../strings.ts";
import { cards } from "./cards.ts";
import { errors, thread } from "./thread.ts";

export const en: Strings = { locale: "en", thread, cards, errors };
