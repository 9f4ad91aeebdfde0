/** Tests what a server renders for a chat and for its list of sessions, where neither `window` nor a user exists. */
import { ClientError, type SessionInfo } from "@turnstream/client";
import { renderToString } from "react-dom/server";
import { expect, test } from "vitest";
import { Chat } from "../../src/chat/chat.tsx";
import { SessionList } from "../../src/chat/session-list.tsx";
import type { Sessions } from "../../src/chat/session-list-store.ts";
import { vi } from "../../src/strings/vi.ts";

const refuse = (): Promise<never> => Promise.reject(new Error("a server calls nothing"));
const EMPTY: Sessions = {
  sessions: [],
  isLoading: false,
  error: null,
  hasMore: false,
  refresh: refuse,
  loadMore: refuse,
  create: refuse,
  rename: refuse,
  remove: refuse,
};

const info = (id: string, title: string | null): SessionInfo => {
  const times = { createdAt: 0, updatedAt: 0 };
  return { id, number: 1, title, forkedFromShare: false, ...times };
};

const getLink = (id: string): string => `/?session=${id}`;

function draw(sessions: Partial<Sessions>, current: string | null): string {
  const list = { ...EMPTY, ...sessions };
  const props = { onOpen: () => {}, onNew: () => {}, getLink, strings: vi };
  return renderToString(<SessionList sessions={list} current={current} {...props} />);
}

test("a server renders nothing for a chat", () => {
  expect(typeof window).toBe("undefined");
  expect(renderToString(<Chat suggestions={["one"]} />)).toBe("");
});

test("the list marks the open session and names the others, in the language of the page", () => {
  const html = draw({ sessions: [info("a", "A walk"), info("b", null)] }, "a");
  expect(html).toMatch(/<a [^>]*href="\/\?session=a"[^>]*aria-current="page"[^>]*>A walk<\/a>/);
  expect(html).toContain(">Cuộc trò chuyện chưa có tên</a>");
  expect(html.match(/aria-current/g)).toHaveLength(1);
});

test.each([
  ["empty", { sessions: [] }, "Các cuộc trò chuyện của bạn sẽ hiện ở đây."],
  ["not loaded", { sessions: null }, "Đang tải…"],
  ["failed", { sessions: null, error: new ClientError("OFFLINE", "None.") }, "Thử lại"],
  ["longer", { hasMore: true }, "Hiện thêm"],
] as const)("a list that is %s", (_, sessions, text) => {
  expect(draw(sessions, null)).toContain(text);
});
