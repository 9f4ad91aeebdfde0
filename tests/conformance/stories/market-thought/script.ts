/**
 * The first example of 004: one model answer with a thought, a shared thought and two parallel calls, and a second
 * shared thought after the calls. The first shared thought stands before the group of the calls, the second after it.
 * Data only.
 */
import type { Story } from "../story.ts";

export const marketThought: Story = {
  name: "market-thought",
  source: "004",
  ask: "VNINDEX hôm nay thế nào?",
  agent: {
    name: "thought-agent",
    model: "model-004",
    sharesThoughts: true,
    tools: { analyze_price: "Xem xét giá {symbol}", web_search: "" },
    answers: [
      [
        { think: "Cần giá và tin tức." },
        { call: "share_thought", id: "st-1", input: { thought: "Mình xem lại số liệu..." } },
        { call: "analyze_price", id: "tc-1", input: { symbol: "VNINDEX" } },
        { call: "web_search", id: "tc-2", input: { query: "VNINDEX" } },
        { call: "share_thought", id: "st-2", input: { thought: "Mình có đủ số liệu rồi." } },
      ],
      [{ text: "VNINDEX tăng 1.84%." }],
    ],
  },
  outcomes: {
    "tc-1": { gives: "VNINDEX: +1.84%", after: "tool_result.start tc-2" },
    "tc-2": { gives: "10 kết quả", after: "tool_result.end tc-1" },
  },
  reloadAt: ["thinking.delta main", "tool_result.end tc-1", "tool_result.start tc-2"],
};
