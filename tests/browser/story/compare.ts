/** `compareScreens` checks that two tabs show the same at the newest position of the log. */
import { setTimeout as sleep } from "node:timers/promises";
import type { Tab } from "../tab.ts";

const TIMEOUT_MS = 45_000;

/**
 * @param head reads the newest position of the log
 * @returns what both tabs show; throws with the difference
 */
export async function compareScreens(one: Tab, other: Tab, head: () => Promise<string>): Promise<string> {
  const deadline = performance.now() + TIMEOUT_MS;
  while (true) {
    const at = await head();
    const [oneView, otherView] = await Promise.all([one.view(), other.view()]);
    const isThere = oneView?.cursor === at && otherView?.cursor === at;
    const isLive = oneView?.phase === "live" && otherView?.phase === "live";
    const isLate = performance.now() > deadline;
    if (isThere && isLive) {
      const [left, right] = await Promise.all([one.screen(), other.screen()]);
      if (left === right && (await head()) === at) return left;
      if (isLate) throw new Error(`At ${at} the two tabs differ:\n${difference(left, right)}`);
    } else if (isLate) {
      const views = JSON.stringify([oneView, otherView]);
      throw new Error(`The two tabs did not reach ${at} live: ${views}`);
    }
    await sleep(50);
  }
}

/** Returns the lines around the first difference. */
function difference(left: string, right: string): string {
  const [ones, others] = [left.split("\n"), right.split("\n")];
  const first = ones.findIndex((line, n) => line !== others[n]);
  const from = Math.max(0, (first < 0 ? ones.length : first) - 4);
  const part = (lines: readonly string[]) => lines.slice(from, from + 12).join("\n");
  return `--- one, from line ${from}\n${part(ones)}\n--- the other\n${part(others)}`;
}
