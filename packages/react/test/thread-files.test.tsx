/** Tests that the files of a user message can be opened, by the rules for links. */
import { createStaticSession } from "@turnstream/client/static";
import type { SessionEvent } from "@turnstream/protocol";
import { renderToString } from "react-dom/server";
import { expect, test } from "vitest";
import { UserMessage } from "../src/thread/user-message.tsx";
import { Stage } from "./stage.tsx";

function draw(url: string, name = "report.pdf"): string {
  const at = { v: 1, at: 0 };
  const events = [
    { ...at, id: "1-1", type: "session.start", session: "s", number: 1 },
    { ...at, id: "1-2", type: "message.add", message: "m", text: "Read this", files: [{ url, name }] },
  ] as unknown as readonly SessionEvent[];
  return renderToString(
    <Stage session={createStaticSession(events)}>
      <UserMessage messageId="m" />
    </Stage>,
  );
}

test("a file of the gateway is a link with its name, and no host stands beside it", () => {
  const page = draw("/api/v1/blobs/token.signature");
  expect(page).toContain('href="/api/v1/blobs/token.signature"');
  expect(page).toContain("report.pdf</bdi>");
  expect(page).not.toContain("ts-link-host");
});

test("a file on another host is opened only after a confirmation", () => {
  const page = draw("https://files.example/report.pdf");
  expect(page).not.toContain("href");
  expect(page).toContain('aria-expanded="false"');
});

test.each(["turnstream:blob/b1", "javascript:alert(1)", "report.pdf"])("%s can't be opened", (url) => {
  const page = draw(url);
  expect(page).not.toMatch(/href|aria-expanded/);
  expect(page).toContain("report.pdf");
});
