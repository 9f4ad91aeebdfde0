/** The two parallel calls of 003: one fails, then the user stops the turn, which cancels the other. Data only. */
import type { Story } from "../story.ts";

export const twoToolsStopped: Story = {
  name: "two-tools-stopped",
  source: "003",
  ask: "So sánh VNM và HPG",
  agent: {
    name: "stopped-agent",
    model: "model-003",
    tools: { search_stock: "Tra cứu mã chứng khoán {symbol}" },
    answers: [
      [
        { call: "search_stock", id: "toolu_01", input: { symbol: "VNM" } },
        { call: "search_stock", id: "toolu_02", input: { symbol: "HPG" } },
      ],
    ],
  },
  outcomes: {
    toolu_01: {
      fails: "Lookup of VNM failed: the exchange did not respond",
      after: "tool_result.start toolu_02",
    },
    toolu_02: { hangs: true },
  },
  stopAt: "tool_result.end toolu_01",
  reloadAt: ["tool_call.end toolu_01", "tool_result.start toolu_02", "tool_result.end toolu_01"],
};
