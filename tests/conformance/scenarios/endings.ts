/** Scenarios that end before their answer: stopped by the user, or failed and retried. */
import { Story } from "./story.ts";

/** A stop while two calls, a result, a question of a sub-agent and a group are open. All are closed in order. */
export function stopped(): Story {
  const log = new Story().session("ses_stop", 115).next({ locale: "vi" });
  log.begin("Quét toàn bộ trang web này").openGroup();
  const crawl = log.call("fetch_web_content", ['{"url":"https://example.com"}'], { label: "Tải trang" });
  const agent = log.call("call_agent", ['{"agent":"reader"}']);
  const onCrawl = log.startResult(crawl, "fetch_web_content", { label: "Tải trang" });
  const part = { type: "tool_result.delta", ...onCrawl, part: 0, media: "text" } as const;
  log.add({ ...part, data: "trang 1/90", done: false });
  const onAgent = log.startResult(agent, "call_agent");
  const run = log.startRun(agent, "reader");
  const half = log.place(run);
  log.add({ type: "text.start", ...half, part: true });
  log.add({ type: "text.delta", ...half, text: "Trang đầu nói về" });
  const last = { call: log.id("call"), name: "search_web", label: "" };
  const call = log.place();
  log.add({ type: "tool_call.start", ...call, ...last });
  log.add({ type: "tool_call.delta", ...call, args: '{"query":"exam' });
  // The stop closes everything from the inside out.
  log.wait(2);
  log.add({ type: "text.end", ...half, final: false });
  log.endRun(run, "cancelled");
  log.add({ type: "tool_call.end", ...call, aborted: true });
  log.endResult(onCrawl, "", { status: "cancelled" }).endResult(onAgent, "", { status: "cancelled" });
  log.result(last.call, last.name, "", { status: "cancelled" }).closeGroup("Đã dừng");
  log.add({
    type: "notice.stopped",
    ...log.place(),
    text: "Bạn đã dừng câu trả lời.",
    by: "usr_an",
    template: { code: "STOPPED" },
  });
  log.end("user_stopped");
  return log;
}

/** The model provider fails in the middle of a text. A second turn retries the first one. */
export function errorAndRetry(): Story {
  const log = new Story().session("ses_error", 116);
  log.begin("Write a haiku about Sa Pa");
  const failed = log.turn;
  const on = log.place();
  log.add({ type: "text.start", ...on, part: false });
  log.add({ type: "text.delta", ...on, text: "Terraces of rice" });
  log.add({ type: "text.end", ...on, final: false });
  log.add({
    type: "notice.error",
    ...log.place(),
    text: "The model did not answer. Try again.",
    code: "LLM_ERROR",
    can_retry: true,
    error_type: "transient",
    details: { provider: "scripted", status: 529 },
    template: { code: "LLM_ERROR" },
  });
  log.end("error").next({ retries: failed }).begin("Write a haiku about Sa Pa");
  log.text(["Terraces of rice / ", "mist climbs the stair of the hill / ", "a buffalo bell 🐃"], {
    final: true,
  });
  log.end();
  return log;
}
