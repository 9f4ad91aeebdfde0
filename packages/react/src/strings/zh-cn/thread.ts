/** Simplified Chinese, of the thread. */
import type { ThreadStrings } from "../strings.ts";

export const thread: ThreadStrings = {
  working: "正在处理",
  steps: (n) => `${n} 步`,
};
