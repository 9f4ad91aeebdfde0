/** Tests that the first render in a browser equals that of the server, for a live session with a snapshot. */
import { createClient, dehydrateSession, type Session } from "@turnstream/client";
import { createStaticSession } from "@turnstream/client/static";
import { renderToString } from "react-dom/server";
import { describe, expect, test } from "vitest";
import { SessionProvider } from "../src/provider.tsx";
import { Thread } from "../src/thread/thread.tsx";
import { LOGS } from "./vector-logs.ts";

const URL = "https://chat.example.com";

function render(session: Session): string {
  return renderToString(
    <SessionProvider session={session}>
      <Thread />
    </SessionProvider>,
  );
}

/** A storage with a message that was written before the reload. */
function storageOf(entries: Map<string, string>) {
  return {
    get length() {
      return entries.size;
    },
    key: (n: number) => [...entries.keys()][n] ?? null,
    getItem: (entry: string) => entries.get(entry) ?? null,
    setItem: (entry: string, text: string) => void entries.set(entry, text),
    removeItem: (entry: string) => void entries.delete(entry),
  };
}

const open = (entries = new Map<string, string>()) =>
  createClient({
    url: URL,
    auth: () => ({ headers: {} }),
    env: { storage: storageOf(entries), fetch: () => new Promise(() => {}) },
  });

describe("a live session with a snapshot", () => {
  test.each(LOGS)("renders the log $name like the server, at every position", ({ events }) => {
    for (let n = 1; n <= events.length; n += 1) {
      const read = createStaticSession(events.slice(0, n));
      const snapshot = dehydrateSession(read);
      const { id } = read;
      const entries = new Map([[`turnstream:person:${URL}`, ""]]);
      open(entries).session(id).send({ text: "written before the reload" });
      expect(entries.size).toBe(2);
      const html = render(open().session(id, { snapshot }));
      expect(render(open(entries).session(id, { snapshot }))).toBe(html);
      // A static session is live. Nothing else differs.
      expect(html).toBe(render(read));
    }
  });
});
