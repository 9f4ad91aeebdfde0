/** Every recorded log is drawn on a server, at every position, and twice the same. */
import { createStaticSession } from "@turnstream/client/static";
import type { SessionEvent } from "@turnstream/protocol";
import { renderToString } from "react-dom/server";
import { describe, expect, test } from "vitest";
import { SessionProvider } from "../src/provider.tsx";
import { Thread } from "../src/thread/thread.tsx";
import { LOGS } from "./vector-logs.ts";

function draw(events: readonly SessionEvent[]): string {
  return renderToString(
    <SessionProvider session={createStaticSession(events)}>
      <Thread />
    </SessionProvider>,
  );
}

describe("on a server", () => {
  test.each(LOGS)("$name", ({ events }) => {
    for (let n = 0; n <= events.length; n++) {
      const page = draw(events.slice(0, n));
      expect(page).toContain("ts-thread");
      expect(draw(events.slice(0, n))).toBe(page);
    }
  });

  test("there are logs at all", () => expect(LOGS.length).toBeGreaterThan(15));
});
