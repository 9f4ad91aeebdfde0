import type { NoticeBlock } from "@turnstream/protocol";
import { expect, test } from "vitest";
import { noticeText } from "../src/notice-text.ts";
import { en } from "../src/strings/en.ts";
import { vi } from "../src/strings/vi.ts";
import { zhCn } from "../src/strings/zh-cn.ts";
import { zhTw } from "../src/strings/zh-tw.ts";

const CATALOGS = [en, vi, zhCn, zhTw];

function notice(of: Partial<NoticeBlock>): NoticeBlock {
  return { kind: "notice", notice: "error", text: "from the server", template: null, ...of } as NoticeBlock;
}

test.each(CATALOGS)("U11 a notice with a known code is in the language of the page ($locale)", (strings) => {
  const { thread, errors } = strings;
  const shown = (template: NoticeBlock["template"]) => noticeText(strings, notice({ template }));
  expect(shown({ code: "STOPPED" })).toBe(thread.stopped);
  expect(shown({ code: "NOT_RETRYABLE" })).toBe(thread.notRetryable);
  expect(shown({ code: "LLM_ERROR" })).toBe(errors.byCode.LLM_ERROR);
  const limit = shown({ code: "LIMIT_REACHED", params: { limit: "steps", value: 1_200 } });
  expect(limit).toBe(thread.limitReached(thread.limits.steps(1_200)));
  expect(limit).toMatch(/1[.,]200/);
});

test.each(CATALOGS)("U11 any other notice shows the text of the server ($locale)", (strings) => {
  const others: NoticeBlock["template"][] = [
    null,
    { code: "FROM_A_NEWER_SERVER" },
    { code: "toString" },
    { code: "LIMIT_REACHED" },
    { code: "LIMIT_REACHED", params: { limit: "toString", value: 1 } },
    { code: "LIMIT_REACHED", params: { limit: "steps", value: "many" } },
  ];
  for (const template of others) expect(noticeText(strings, notice({ template }))).toBe("from the server");
  expect(noticeText(strings, notice({ text: "" }))).toBe(strings.thread.failed);
  expect(noticeText(strings, notice({ notice: "stopped", text: "" }))).toBe(strings.thread.stopped);
});

test("U11 no language has the same texts as another", () => {
  const texts = CATALOGS.map(({ thread }) => [thread.stopped, thread.resuming, thread.limits.steps(2)]);
  for (const n of [0, 1, 2]) expect(new Set(texts.map((all) => all[n])).size).toBe(CATALOGS.length);
});
