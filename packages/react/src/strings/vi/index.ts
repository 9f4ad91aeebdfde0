/** Vietnamese. */
import type { Strings } from "../strings.ts";
import { cards } from "./cards.ts";
import { errors, thread } from "./thread.ts";

export const vi: Strings = { locale: "vi", thread, cards, errors };
