/**
 * Tests that a server renders every recorded log at every position, with the same result each time. A warning of React
 * fails the test: on a server it would be logged for each request.
 */
import { createStaticSession } from "@turnstream/client/static";
import type { SessionEvent } from "@turnstream/protocol";
import { renderToString } from "react-dom/server";
import { describe, expect, onTestFinished, test, vi } from "vitest";
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

describe("Thread on a server", () => {
  test.each(LOGS)("renders the log $name", ({ events }) => {
    const logged = vi.spyOn(console, "error");
    onTestFinished(() => logged.mockRestore());
    for (let n = 0; n <= events.length; n++) {
      const page = draw(events.slice(0, n));
      expect(page).toContain("ts-thread");
      expect(draw(events.slice(0, n))).toBe(page);
    }
    expect(logged).not.toHaveBeenCalled();
  });

  test("has recorded logs to render", () => expect(LOGS.length).toBeGreaterThan(15));
});
