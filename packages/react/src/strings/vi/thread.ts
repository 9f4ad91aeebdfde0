/** Vietnamese, of the thread. */
import type { ThreadStrings } from "../strings.ts";

export const thread: ThreadStrings = {
  working: "Đang làm",
  steps: (n) => `${n} bước`,
};
