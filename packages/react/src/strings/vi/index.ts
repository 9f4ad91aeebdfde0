/** Vietnamese. */
import type { Strings } from "../strings.ts";
import { cards } from "./cards.ts";
import { problems, thread } from "./thread.ts";

export const vi: Strings = { locale: "vi", thread, cards, problems };
