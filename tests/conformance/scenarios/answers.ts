/** Scenarios about the answer: plain, with a shared thought, with tool tags, in chat mode. */
import { Story } from "./story.ts";

export function plainAnswer(): Story {
  const log = new Story().session("ses_hello", 101);
  log.begin("Xin chào! Bạn làm được gì?");
  log.think(["Người dùng chào. ", "Trả lời ngắn gọn."]);
  log.text(["Chào bạn 👋! ", "Tôi tra cứu giá, ", "đặt bàn và tóm tắt tài liệu."], { final: true });
  log.end();
  return log;
}

/** `share_thought` becomes a text part outside the group. A question follows, also outside. */
export function sharedThoughtAndQuestion(): Story {
  const log = new Story().session("ses_dinner", 105);
  log.begin("Tìm quán phở gần hồ Gươm cho 4 người");
  log.openGroup();
  const search = log.call("search_web", ['{"query":"phở hồ Gươm"}'], { label: "Tìm quán" });
  log.result(search, "search_web", "6 quán").closeGroup("Tìm được 6 quán");
  const shared = log.place();
  log.add({ type: "text.start", ...shared, part: true, call: log.id("call") });
  log.add({ type: "text.delta", ...shared, text: "Có 6 quán, " });
  log.add({ type: "text.delta", ...shared, text: "tôi cần biết thêm 🤔" });
  log.add({ type: "text.end", ...shared, final: false });
  const asked = log.place();
  log.add({
    type: "question.request",
    ...asked,
    key: "ses_dinner_1",
    call: log.id("call"),
    questions: [
      {
        id: "when",
        text: "Bạn ăn lúc nào?",
        options: [
          { id: "noon", label: "Trưa", description: "11:30" },
          { id: "night", label: "Tối" },
        ],
        multiple: false,
        free_text: true,
      },
      {
        id: "diet",
        text: "Có ai ăn chay không?",
        options: [{ id: "vegan", label: "Thuần chay" }],
        multiple: true,
        free_text: false,
      },
    ],
    timeout_seconds: 300,
    deadline: log.now + 300_000,
  });
  log.wait(42);
  log.add({
    type: "question.update",
    ...asked,
    version: 1,
    by: "usr_an",
    status: "answered",
    answers: [
      { question: "when", selected: ["night"], text: "sau 19 giờ" },
      { question: "diet", selected: [] },
    ],
  });
  log.openGroup();
  const book = log.call("find_table", ['{"hour":', "19}"]);
  log.result(book, "find_table", "Phở Thìn, bàn 4").closeGroup("Tìm được bàn");
  log.text(["Phở Thìn còn bàn lúc 19:30."], { final: true }).end();
  return log;
}

/** A plain message arrives while a question is pending. It answers the question, and no turn answers it. */
export function questionAnsweredByMessage(): Story {
  const log = new Story().session("ses_gift", 117);
  log.begin("Order flowers for my mother");
  const asked = log.place();
  log.add({
    type: "question.request",
    ...asked,
    key: "ses_gift_1",
    call: log.id("call"),
    questions: [
      {
        id: "kind",
        text: "Which flowers?",
        options: [
          { id: "lotus", label: "Lotus 🪷" },
          { id: "rose", label: "Roses" },
        ],
        multiple: false,
        free_text: true,
      },
    ],
  });
  log.wait(20);
  const text = "whatever is in season";
  const message = log.queue(text);
  log.add({
    type: "question.update",
    ...asked,
    version: 1,
    by: "usr_an",
    status: "answered",
    answers: [{ question: "kind", selected: [], text }],
    message,
  });
  const call = log.call("order_flowers", ['{"kind":"peach ', 'blossom"}']);
  log.result(call, "order_flowers", "ordered");
  log.text(["Peach blossom is on its way 🌸"], { final: true }).end();
  return log;
}

/** `<tool ...>` spans that deltas cut, a `<` that starts no tag, and a span that the end of the block leaves open. */
export function toolTags(): Story {
  const log = new Story().session("ses_tags", 108);
  log.begin("Is 3 < 5 and what's the weather?");
  log.text(['Let me look <tool name="wea', 'ther">{"city":"Huế"}</to', "ol>at the sky. "], { part: true });
  const call = log.call("weather", ['{"city":"Huế"}'], { label: "Weather" });
  log.result(call, "weather", "31°C ☀️");
  log.text(['<tool name="note">nothing to see</tool>'], { part: true });
  const pieces = ["Yes, 3 ", "<", " 5", ", and it is 31°C <tool id='a>b'/>☀️ <to", "ols> stay. <tool"];
  log.text(pieces, { final: true }).end();
  return log;
}

/** Chat mode shows no thinking. A hidden tool is in the log, and no client shows it. */
export function hiddenToolInChatMode(): Story {
  const log = new Story().session("ses_memory", 110).next({ model: "scripted-mini", from_share: true });
  log.begin("记住我不吃花生", { mode: "chat" });
  log.think(["要写入", "记忆。"]);
  const call = log.id("call");
  const on = log.place();
  const tool = { call, name: "memory", label: "Remember", hidden: true };
  log.add({ type: "tool_call.start", ...on, ...tool });
  log.add({ type: "tool_call.delta", ...on, args: '{"op":"add","text":"不吃' });
  log.add({ type: "tool_call.delta", ...on, args: '花生 🥜"}' });
  log.add({ type: "tool_call.end", ...on });
  const result = log.place();
  log.add({ type: "tool_result.start", ...result, ...tool });
  log.endResult(result, "ok");
  log.text(["好的，", "以后不会推荐花生。"], { final: true }).end();
  return log;
}
