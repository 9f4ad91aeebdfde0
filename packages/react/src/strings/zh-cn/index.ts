/** Simplified Chinese. */
import type { Strings } from "../strings.ts";
import { cards } from "./cards.ts";
import { errors, thread } from "./thread.ts";

export const zhCn: Strings = { locale: "zh-CN", thread, cards, errors };
