/** Every recorded log is drawn on a server, at every position, and twice the same. */
import { globSync, readFileSync } from "node:fs";
import { basename, join } from "node:path";
import { recordedSession } from "@turnstream/client/recorded";
import type { Event } from "@turnstream/protocol";
import { renderToString } from "react-dom/server";
import { describe, expect, test } from "vitest";
import { SessionProvider } from "../src/provider.tsx";
import { Thread } from "../src/thread/thread.tsx";

const folder = join(import.meta.dirname, "../../../conformance/vectors/fold");
const LOGS = globSync("*.json", { cwd: folder })
  .toSorted()
  .map((file) => ({ name: basename(file, ".json"), events: eventsOf(join(folder, file)) }));

function eventsOf(path: string): Event[] {
  return (JSON.parse(readFileSync(path, "utf8")) as { readonly events: Event[] }).events;
}

function draw(events: readonly Event[]): string {
  return renderToString(
    <SessionProvider session={recordedSession(events)}>
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
