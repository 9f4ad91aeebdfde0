/** Tests that a user in each language stops a turn, and that another page shows the notice in its own language. */
import { en } from "@turnstream/react";
import { vi } from "@turnstream/react/strings/vi";
import { zhCn } from "@turnstream/react/strings/zh-cn";
import { zhTw } from "@turnstream/react/strings/zh-tw";
import { BUILT_IN_STRINGS } from "@turnstream/server";
import { afterAll, beforeAll, expect, onTestFinished, test } from "vitest";
import { LONG_ANSWER } from "./agents.ts";
import { BrowserSession } from "./browser-session.ts";

let browserSession: BrowserSession;

beforeAll(async () => {
  browserSession = await BrowserSession.open();
});

afterAll(async () => {
  await browserSession?.close();
});

test.for([
  ["en", en, vi],
  ["vi", vi, zhTw],
  ["zh-CN", zhCn, en],
  ["zh-TW", zhTw, zhCn],
] as const)("U11 a user stops a turn in %s", async ([locale, strings, others]) => {
  const ref = await browserSession.createSession();
  const context = await browserSession.openContext();
  const tab = await browserSession.openTab(context, ref, LONG_ANSWER, locale);
  await tab.live();
  onTestFinished(browserSession.pauseAnswerAfter(10));
  await tab.send("stop-me");
  await tab.reads("stop-me-3 ");
  await tab.page.getByRole("button", { name: strings.thread.stop, exact: true }).click();
  await tab.page.locator(".ts-stopped").getByText(strings.thread.stopped, { exact: true }).waitFor();
  const turn = (await browserSession.harness.state(ref)).turns.last();
  expect(turn?.locale).toBe(locale);
  const notice = turn?.items.findLast((item) => item?.kind === "notice");
  expect(notice).toMatchObject({ text: BUILT_IN_STRINGS[locale].stopped, template: { code: "STOPPED" } });
  const other = await browserSession.openTab(context, ref, LONG_ANSWER, others.locale);
  await other.page.locator(".ts-stopped").getByText(others.thread.stopped, { exact: true }).waitFor();
});
