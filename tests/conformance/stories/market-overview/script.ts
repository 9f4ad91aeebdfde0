/**
 * The market overview of 004: a group with only a thought, a greeting, a group of two calls, a shared thought, a group
 * of two more calls and a thought, the answer. Data only.
 */
import type { Story } from "../story.ts";

export const marketOverview: Story = {
  name: "market-overview",
  source: "004",
  ask: "tổng quan thị trường",
  agent: {
    name: "market-agent",
    model: "model-004",
    sharesThoughts: true,
    tools: {
      write_todos: "Chọn các bước cần làm",
      analyze_price: "Xem xét giá {symbol}",
      web_search: "",
      read_file: "Tải giá và khối lượng giao dịch",
    },
    answers: [
      [
        { think: "Người dùng hỏi về thị trường." },
        { call: "share_thought", id: "st-1", input: { thought: "Chào bạn! Mình xem số liệu mới nhất." } },
      ],
      [
        { call: "write_todos", id: "tc-1", input: { todos: ["giá", "tin tức"] } },
        { call: "analyze_price", id: "tc-2", input: { symbol: "VNINDEX" } },
      ],
      [{ call: "share_thought", id: "st-2", input: { thought: "Mình xem lại số liệu..." } }],
      [
        { call: "read_file", id: "tc-3", input: { path: "thanh-khoan.csv" } },
        { call: "web_search", id: "tc-4", input: { query: "thị trường 25/03/2026" } },
      ],
      [{ think: "Đủ dữ liệu để trả lời." }, { text: "Chỉ số VNINDEX tăng 1.84% trong phiên..." }],
    ],
  },
  outcomes: {
    "tc-1": { gives: "2 việc", after: "tool_result.start tc-2" },
    "tc-2": { gives: "VNINDEX: +1.84%", after: "tool_result.end tc-1" },
    // The later call ends first, because results can arrive in any order.
    "tc-3": { gives: "Thanh khoản: 25.000 tỷ", after: "tool_result.end tc-4" },
    "tc-4": { gives: "10 kết quả", after: "tool_result.start tc-3" },
  },
  reloadAt: ["tool_result.end tc-1", "tool_result.start tc-4", "text.delta main"],
};
