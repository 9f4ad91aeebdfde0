/** English. The other languages are translated from it. */
import type { Strings } from "../strings.ts";
import { cards } from "./cards.ts";
import { errors, thread } from "./thread.ts";

export const en: Strings = { locale: "en", thread, cards, errors };
