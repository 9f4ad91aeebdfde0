/** The two parallel calls of 003, both with a result; a text, one more call with a chart, and an answer. Data only. */
import type { Story } from "../story.ts";

export const twoTools: Story = {
  name: "two-tools",
  source: "003",
  ask: "So sánh VNM và HPG",
  agent: {
    name: "compare-agent",
    model: "model-003",
    tools: { search_stock: "Tra cứu mã chứng khoán {symbol}", create_chart: "" },
    answers: [
      [
        { call: "search_stock", id: "toolu_01", input: { symbol: "VNM" } },
        { call: "search_stock", id: "toolu_02", input: { symbol: "HPG" } },
      ],
      [{ text: "Để mình vẽ biểu đồ." }, { call: "create_chart", id: "toolu_03", input: { symbol: "VNM" } }],
      [{ text: "VNM 64,300 đồng, HPG 31,700 đồng." }],
    ],
  },
  outcomes: {
    toolu_01: { gives: "VNM 64,300 đồng", after: "tool_result.start toolu_02" },
    toolu_02: { gives: "HPG 31,700 đồng", after: "tool_result.end toolu_01" },
    toolu_03: {
      gives: "Biểu đồ đã vẽ xong",
      artifact: { type: "chart", data: { labels: ["10h", "11h", "12h"], values: [64300, 63900, 65100] } },
    },
  },
  reloadAt: ["tool_call.end toolu_01", "tool_result.end toolu_01", "text.delta main"],
};
