/** Simplified Chinese, of cards and content. */
import type { CardStrings } from "../strings.ts";

export const cards: CardStrings = {
  approve: "批准",
};
